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

// fold appends an entry of at most most bytes, and removes old entries to make room for it.
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

// share returns one directive's share of Reports and Questions, in bytes. Each listed directive has one
// share, all that are no longer listed have one together, and entries on no directive have one. So
// units of unlisted directives cannot displace the watcher's reports on the agent's program.
func (doc *Document) share() int { return doc.room() / (len(doc.Directives) + 2) }

// room returns the size of all shares: MaxAnswers, or less if the PM's part needs the space.
func (doc *Document) room() int {
	return max(0, min(MaxAnswers, MaxBytes-(len(doc.layout.src)-doc.answers())))
}

// sharers maps the ids of a part's entries to the share that each counts for: its directive's.
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

// about maps the ids of a part's entries to their directives.
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

// taken returns the bytes of Reports and Questions that each share uses.
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

// makeRoom removes reports until the directive is within its share and all shares are within room.
func makeRoom(data []byte, directive string) ([]byte, []Range, error) {
	doc := read(data)
	if directive != "-" && doc.Directive(directive) == nil {
		directive = unlisted
	}
	sizes, share, room := doc.taken(), doc.share(), min(MaxAnswers, MaxBytes-(len(data)-doc.answers()))
	keep, whose := kept(doc.Reports, doc.Directives), doc.sharers(reports)
	may := map[string][]entry{} // removable reports by share, oldest first
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

// without returns the document without some entries of a part; every other byte stays as it was.
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

// rangesOf combines ids to ranges.
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

// CheckShares checks an agent's change of COMMS.md against the shares. A directive whose entries grew
// must be within its share as long as it has removable reports, and may have one question of at most
// MaxQuestionBytes. own is the directive whose lease the worker has, the only one whose reports it may
// remove; "" is an agent without a lease.
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

// shareHint returns the hint for a full share: remove its oldest removable reports or, if the worker may
// not remove any, do not write the entry.
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
