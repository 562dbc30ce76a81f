package comms

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"git-ward/internal/diag"
)

// MaxQuestionBytes bounds a question, Raw (COMMS-5): a person reads it, and the record has the
// details.
const MaxQuestionBytes = 2 << 10

// minEntry is the least size that an entry may take whatever the directive's share.
const minEntry = 512

const ruleAgentShare = "comms/agent-share"

func (r NewReport) fold(data []byte, where string) (Amended, error) {
	return fold(data, r.Directive, MaxReportBytes, func(data []byte, most int) ([]byte, int, error) {
		return r.append(data, space{most, cutLine(r.Directive, where)})
	})
}

func (q NewQuestion) fold(data []byte, where string) (Amended, error) {
	return fold(data, q.Directive, MaxQuestionBytes, func(data []byte, most int) ([]byte, int, error) {
		out, id, err := q.append(data, space{most, cutLine(q.Directive, where)})
		if err != nil {
			return nil, 0, err
		}
		doc := read(out)
		about := doc.about(questions)
		return doc.without(questions, func(e entry) bool { return e.id != id && about[e.id] == q.Directive }), id, nil
	})
}

// cutLine ends an entry that had no room for its text.
func cutLine(directive, where string) string {
	if where == "" {
		return cutMarker
	}
	return fmt.Sprintf("\n(cut to the share of %s; all of it: %s)", directive, where)
}

// fold appends an entry of at most so many bytes, and makes room for it.
func fold(data []byte, directive string, most int, add func([]byte, int) ([]byte, int, error)) (a Amended, err error) {
	doc, err := parseSound(data)
	if err != nil {
		return a, err
	}
	out, id, err := add(data, max(minEntry, min(most, doc.share()/2)))
	if err != nil {
		return a, err
	}
	a.ID = id
	a.Data, a.Removed, err = makeRoom(out, directive)
	return a, err
}

// unlisted is the share for reports on directives that are no longer listed.
const unlisted = "directives that are gone"

// share is what one directive may have of Reports and Questions, in bytes: as much as each
// other that is listed, as those together that are not, and as what is about none: what the
// watcher says of the agent's program is about none, and no unit of a directive that is gone
// puts it out.
func (doc *Document) share() int { return doc.room() / (len(doc.Directives) + 2) }

// room is what all of them may have: less than MaxAnswers where the PM took more than the
// rest of the document.
func (doc *Document) room() int {
	return max(0, min(MaxAnswers, MaxBytes-(len(doc.layout.src)-doc.answers())))
}

// sharers says in whose share each report, or question, is, by its id: in that of the directive
// that it is about.
func (doc *Document) sharers(p part) map[int]string {
	listed := map[string]string{"-": "-"}
	for _, d := range doc.Directives {
		listed[d.Name()] = d.Name()
	}
	whose := doc.about(p)
	for id, directive := range whose {
		whose[id] = cmp.Or(listed[directive], unlisted)
	}
	return whose
}

// about is what each report, or question, is about, by its id.
func (doc *Document) about(p part) map[int]string {
	about := map[int]string{}
	if p == reports {
		for _, r := range doc.Reports {
			about[r.ID] = r.Directive
		}
		return about
	}
	for _, q := range doc.Questions {
		about[q.ID] = q.Directive
	}
	return about
}

// taken is what each directive has of Reports and Questions, in bytes.
func (doc *Document) taken() map[string]int {
	sizes := map[string]int{}
	for _, p := range []part{reports, questions} {
		whose := doc.sharers(p)
		for _, e := range doc.layout.parts[p].entries {
			sizes[whose[e.id]] += e.end - e.start
		}
	}
	return sizes
}

// makeRoom takes reports away until a directive has no more than its share, and all together
// what they may have.
func makeRoom(data []byte, directive string) ([]byte, []Range, error) {
	doc := read(data)
	if directive != "-" && doc.Directive(directive) == nil {
		directive = unlisted
	}
	sizes, share, room := doc.taken(), doc.share(), min(MaxAnswers, MaxBytes-(len(data)-doc.answers()))
	keep, whose := kept(doc.Reports, doc.Directives), doc.sharers(reports)
	may := map[string][]entry{} // by whose they are, oldest first
	for _, e := range doc.layout.parts[reports].entries {
		if e.id != 0 && keep[e.id] == "" {
			may[whose[e.id]] = append(may[whose[e.id]], e)
		}
	}
	gone, total := map[int]bool{}, doc.answers()
	drop := func(d string) {
		oldest := may[d][0]
		may[d] = may[d][1:]
		gone[oldest.id] = true
		sizes[d] -= oldest.end - oldest.start
		total -= oldest.end - oldest.start
	}
	for sizes[directive] > share && len(may[directive]) > 0 {
		drop(directive)
	}
	for total > room {
		most := ""
		for _, d := range slices.Sorted(maps.Keys(may)) {
			if len(may[d]) > 0 && (most == "" || sizes[d] > sizes[most]) {
				most = d
			}
		}
		if most == "" {
			return nil, nil, fmt.Errorf("%d bytes of %s are for Reports and Questions, and no report may go: %w", room, Path, ErrFull)
		}
		drop(most)
	}
	if len(gone) == 0 {
		return data, nil, nil
	}
	return doc.without(reports, func(e entry) bool { return gone[e.id] }), rangesOf(gone), nil
}

// without is the document without some entries of a part, with every other byte as it was.
func (doc *Document) without(p part, gone func(entry) bool) []byte {
	var out strings.Builder
	at := 0
	for _, e := range doc.layout.parts[p].entries {
		if gone(e) {
			out.WriteString(doc.layout.src[at:e.start])
			at = e.end
		}
	}
	out.WriteString(doc.layout.src[at:])
	return []byte(out.String())
}

// rangesOf writes ids as ranges.
func rangesOf(ids map[int]bool) (list []Range) {
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if n := len(list); n > 0 && list[n-1].Last == id-1 {
			list[n-1].Last = id
		} else {
			list = append(list, Range{id, id})
		}
	}
	return list
}

// CheckShares holds what an agent made of COMMS.md to the shares of directives: one that grew
// has no more than its share, as long as some of its reports may go; and its questions are
// one, and small. A worker with the lease of own may take out that one's reports alone; "" is an
// agent without one.
func CheckShares(old, new []byte, own string) []diag.Diagnostic {
	after, err := parseSound(new)
	if err != nil {
		return nil // CheckAgentChange says so
	}
	before, _ := Parse(old)
	f := &findings{}
	was, is, share := before.taken(), after.taken(), after.share()
	keep, sharers := kept(after.Reports, after.Directives), after.sharers(reports)
	for _, e := range after.layout.parts[reports].entries {
		if whose := sharers[e.id]; is[whose] > max(share, was[whose]) && keep[e.id] == "" {
			f.add(e.line, 0, ruleAgentShare, after.shareHint(whose, own, func(id int) bool { return sharers[id] == whose && keep[id] == "" }),
				"Reports and Questions on %s would take %d bytes; of %d, which all have, its share is %d", whose, is[whose], after.room(), share)
			is[whose] = 0 // once
		}
	}
	known, asked := map[int]bool{}, map[string]int{}
	for _, q := range before.Questions {
		known[q.ID] = true
	}
	for _, q := range after.Questions {
		if first := asked[q.Directive]; first != 0 && !known[q.ID] {
			f.add(q.Line, 0, ruleAgentShare, "take "+name('Q', first)+" out: the newer question stands for both", "%s has an open question, %s; it has one at a time", q.Directive, name('Q', first))
		}
		asked[q.Directive] = q.ID
		if !known[q.ID] && len(q.Raw) > MaxQuestionBytes {
			f.add(q.Line, 0, ruleAgentShare, "ask in a sentence or two; commit the rest as a file that it names", "%s has %d bytes; a question has at most %d", q.Name(), len(q.Raw), MaxQuestionBytes)
		}
	}
	return *f
}

// shareHint says how what would be in a share that is full fits: by taking out the oldest of its
// reports that may go, or, where those are none of the worker's, by saying it elsewhere or not.
func (doc *Document) shareHint(whose, own string, may func(id int) bool) string {
	const larger = "the PM makes shares larger by taking out directives that are done"
	for _, r := range doc.Reports {
		if may(r.ID) && (own == "" || r.Directive == own) {
			return fmt.Sprintf("take its oldest reports out, with a trailer such as %s: %s; %s", PruneTrailer, name('R', r.ID), larger)
		}
	}
	where := ""
	if doc.Directive(own) != nil {
		where = ", or say it in a report on " + own
	}
	return fmt.Sprintf("leave it out%s: a worker takes out reports on its own directive only, and the PM those on %s; %s", where, whose, larger)
}
