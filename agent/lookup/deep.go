package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/knowledge"
)

// Bounds of a deep search: words that it learns, places that it reads around, lines on
// either side, bytes of a place.
const (
	maxLearnt  = 4
	maxAround  = 8
	aroundSize = 1200
	linesAside = 8
)

// Deep searches twice: the second time with the words that the best places of the first
// share, which is how what is said in other words is found. Its hits have what stands
// around each place.
func (f *Finder) Deep(ctx context.Context, text string) (Result, error) {
	first, err := f.Find(ctx, text)
	if err != nil {
		return Result{}, err
	}
	learnt := shared(first[0])
	second, err := f.Find(ctx, text+" "+strings.Join(learnt, " "))
	if err != nil {
		return Result{}, err
	}
	r := second[0]
	r.Question = text
	r.Hits = r.Hits[:min(len(r.Hits), maxAround)]
	for i := range r.Hits {
		r.Hits[i].Text = f.around(ctx, r.Hits[i])
	}
	return r, nil
}

// shared are the words, besides the question's own, that most of the best hits have.
func shared(r Result) []string {
	count := map[string]int{}
	for _, h := range r.Hits {
		for _, w := range knowledge.Words(h.Text) {
			if !slices.Contains(r.Words, w) {
				count[w]++
			}
		}
	}
	var list []string
	for w, n := range count {
		if n > 1 {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	return list[:min(len(list), maxLearnt)]
}

// around is a hit's context: the lines of a file, the files of a commit.
func (f *Finder) around(ctx context.Context, h Hit) string {
	if id, ok := strings.CutPrefix(h.Place, "commit "); ok {
		out, err := f.Tree.Git(ctx, "show", "--no-show-signature", "--no-notes", "--no-ext-diff", "--no-textconv", "--stat=80", "--stat-count=12", "--format=%B", id, "--")
		if err != nil {
			return h.Text
		}
		return block(out)
	}
	name, number, ok := cutLast(h.Place)
	line, err := strconv.Atoi(number)
	if !ok || err != nil {
		return h.Text
	}
	data, err := f.Tree.Read(name, maxFile)
	if err != nil {
		return h.Text
	}
	lines := strings.Split(string(data), "\n")
	from, to := max(0, line-1-linesAside/4), min(len(lines), line+linesAside)
	if from >= to {
		return h.Text
	}
	return block(strings.Join(lines[from:to], "\n"))
}

func cutLast(place string) (name, number string, ok bool) {
	at := strings.LastIndexByte(place, ':')
	if at < 0 {
		return place, "", false
	}
	return place[:at], place[at+1:], true
}

func block(text string) string {
	return diag.CleanLines(diag.Cut(strings.ToValidUTF8(strings.TrimSpace(text), "?"), aroundSize))
}

// Rank orders hits that others brought by the words of a question, each place once; those
// that have none of them come last.
func Rank(text string, hits []Hit) []Hit {
	q := newQuestion(text, append(Sources(), Web, Output))
	var rest []Hit
	seen := map[string]bool{}
	for _, h := range hits {
		key := h.Place
		if h.Source == Web || h.Source == Output { // one hit may have many
			key += " " + diag.Cut(strings.Join(strings.Fields(h.Text), " "), 40)
		}
		if h.Text == "" || seen[key] {
			continue
		}
		seen[key], h.Weight = true, 0
		before := len(q.found)
		offer([]*question{q}, h, h.Place, h.Text+" "+h.Place)
		if len(q.found) == before {
			rest = append(rest, h)
		}
	}
	q.weigh()
	var list []Hit
	for _, c := range q.found {
		list = append(list, c.hit)
	}
	return append(list, rest...)
}

// Passages are the paragraphs of a text that contain words of a question, the best first; if
// none does, the first paragraph. Place turns a line number, from 1, into a place.
func Passages(question, text string, source Source, place func(line int) string, most int) []Hit {
	var all []Hit
	begin, line := 1, 0
	var part []string
	flush := func() {
		if whole := strings.TrimSpace(strings.Join(part, "\n")); whole != "" {
			all = append(all, Hit{Source: source, Place: place(begin), Text: whole})
		}
		part = part[:0]
	}
	for text := range strings.Lines(text) {
		line++
		if strings.TrimSpace(text) == "" || len(part) == maxParagraph {
			flush()
		}
		if strings.TrimSpace(text) != "" {
			if len(part) == 0 {
				begin = line
			}
			part = append(part, strings.TrimRight(text, "\r\n"))
		}
	}
	flush()
	ranked := Rank(question, all)
	return ranked[:min(len(ranked), most)]
}

// maxParagraph splits text without blank lines, in lines.
const maxParagraph = 12

// WriteText says what was found, a line for each place.
func (r Result) WriteText(write func(format string, args ...any)) {
	for _, h := range r.Hits {
		text := strings.ReplaceAll(h.Text, "\n", "\n    ")
		write("%s %s: %s\n", h.Source, h.Place, diag.CleanLines(text))
	}
	for _, c := range r.Cut {
		write("not searched: %s\n", diag.Clean(c))
	}
	if len(r.Hits) == 0 {
		write("nothing has these words: %s\n", diag.Clean(strings.Join(r.Words, " ")))
	}
}

// ParseSources reads the names of sources.
func ParseSources(names []string) (list []Source, err error) {
	for _, name := range names {
		s := Source(strings.TrimSpace(name))
		if !slices.Contains(Sources(), s) {
			return nil, fmt.Errorf("%q is no source; there are %s", name, join(Sources()))
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return Sources(), nil
	}
	return list, nil
}

func join(list []Source) string {
	var names []string
	for _, s := range list {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
