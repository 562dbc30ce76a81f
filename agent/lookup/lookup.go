// Package lookup searches a repository for a question before any outside source is asked
// (ORI-1, PLAN-8): its symbols and dependencies, files, history, and the lessons and
// post-mortems of earlier work. Each hit has its place, so that it can be cited. It changes
// nothing.
//
// It looks for the question's words, in any script; rare words weigh more than common
// ones. Every source is bounded in bytes, time and hits, and the answer says what was
// skipped because of a bound.
package lookup

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ward/agent/survey"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/knowledge"
)

// Source is a place to search.
type Source string

// The sources. Of equal hits, those of the earlier source come first.
const (
	Symbols      Source = "symbols"
	Documents    Source = "documents"
	Files        Source = "files"
	Dependencies Source = "dependencies"
	History      Source = "history"
	Lessons      Source = "lessons"
	PostMortems  Source = "post-mortems"
)

// Web and Output are the sources of hits that others bring: pages, and what commands say.
const (
	Web    Source = "web"
	Output Source = "output"
)

// Sources are those that a Finder searches.
func Sources() []Source {
	return []Source{Symbols, Dependencies, Documents, Files, History, Lessons, PostMortems}
}

// Hit is one search result.
type Hit struct {
	Source Source  `json:"source"`
	Place  string  `json:"place"` // for citing: path:line, a commit id, a lesson id, or a unit and path of a record
	Text   string  `json:"text"`  // text of others
	Weight float64 `json:"-"`     // the weight of the words that it has
}

// Result has one question's hits, the best first.
type Result struct {
	Question string   `json:"question"`
	Words    []string `json:"words"`
	Searched []Source `json:"searched"`
	Hits     []Hit    `json:"hits"`
	Cut      []string `json:"cut,omitempty"` // what was not searched, and why
}

// Text is a text of earlier work, such as a post-mortem or a unit's learnings.
type Text struct {
	Source Source
	Place  string // "D-1.1 postmortems/2026-11-22-D-1.md"
	Body   string
}

// Bounds of one search.
const (
	maxHits    = 12        // of a question
	maxPerFile = 2         // per file, so that no file displaces the others
	maxOf      = 5         // per source, likewise
	maxExcerpt = 400       // bytes of a hit's text
	maxBytes   = 128 << 20 // of files that are read
	maxFile    = 1 << 20   // bytes of one of them
	maxCommits = 5_000     // of the history
	maxTime    = 10 * time.Second
)

// Finder searches one tree.
type Finder struct {
	Tree  *worktree.Tree
	Index *survey.Index // the tree's; nil, and each search makes it
	Texts []Text        // lessons, learnings and post-mortems of earlier work
}

// search is one search of all sources.
type search struct {
	*Finder
	survey func() (*survey.Index, error)
}

func newQuestion(text string, sources []Source) *question {
	q := &question{text: text, words: knowledge.Words(text), in: sources}
	for _, w := range q.words {
		q.stems = append(q.stems, knowledge.Stem(w))
	}
	q.count = make([]int, len(q.stems))
	return q
}

// question is a question during its search.
type question struct {
	text  string
	in    []Source
	words []string // in citable form
	stems []string
	count []int // how many texts have each stem
	seen  int   // places looked at
	found []candidate
}

// candidate is a text that has some of the words.
type candidate struct {
	hit  Hit
	file string // shared by texts of one file
	has  uint32 // bit i: has the question's word i; MaxWords fit
}

// Find looks for all questions at once, which reads each file once. The error is the
// context's: a source that cannot be read is named in the results.
func (f *Finder) Find(ctx context.Context, questions ...string) ([]Result, error) {
	return f.In(ctx, Sources(), questions...)
}

// In is Find limited to some sources.
func (f *Finder) In(ctx context.Context, sources []Source, questions ...string) ([]Result, error) {
	var list []*question
	for _, text := range questions {
		list = append(list, newQuestion(text, sources))
	}
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	s := &search{f, sync.OnceValues(func() (*survey.Index, error) {
		if f.Index != nil {
			return f.Index, nil
		}
		return survey.Survey(ctx, f.Tree)
	})}
	var cut []string
	for _, part := range []struct {
		search func(context.Context, []*question) string
		of     []Source
	}{
		{s.texts, []Source{Lessons, PostMortems}}, {s.symbols, []Source{Symbols, Dependencies}},
		{s.files, []Source{Documents, Files, PostMortems}}, {s.history, []Source{History}},
	} {
		if !slices.ContainsFunc(part.of, func(s Source) bool { return slices.Contains(sources, s) }) {
			continue
		}
		if why := part.search(ctx, list); why != "" {
			cut = append(cut, why)
		}
	}
	if err := context.Cause(ctx); err != nil && ctx.Err() != context.DeadlineExceeded {
		return nil, err
	}
	results := make([]Result, 0, len(list))
	for _, q := range list {
		results = append(results, q.result(cut))
	}
	return results, nil
}

// offer matches a text against each question. The hit may show less than the text, or a more
// readable form.
func offer(list []*question, hit Hit, file, text string) {
	small := strings.ToLower(text)
	for _, q := range list {
		if !slices.Contains(q.in, hit.Source) {
			continue
		}
		q.seen++
		if has := q.holds(small); has != 0 {
			hit.Text = strings.Clone(diag.Cut(hit.Text, 4*maxExcerpt)) // and not the whole file
			q.note(candidate{hit, file, has})
		}
	}
}

// holds says which of the words a lower-case text has.
func (q *question) holds(small string) (has uint32) {
	for i, stem := range q.stems {
		if at := strings.Index(small, stem); at >= 0 && begins(small, at, stem) {
			has |= 1 << i
		}
	}
	return has
}

// begins reports whether a word begins at a stem's occurrence or a later one. In scripts
// without blanks any letter may begin a word.
func begins(text string, at int, stem string) bool {
	if stem[0] >= 0x80 {
		return true
	}
	for {
		if at == 0 || !isLetter(text[at-1]) {
			return true
		}
		next := strings.Index(text[at+1:], stem)
		if next < 0 {
			return false
		}
		at += 1 + next
	}
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || c >= 0x80 }

// maxCandidates bounds a question's candidates before ranking.
const maxCandidates = 20_000

func (q *question) note(c candidate) {
	for i := range q.stems {
		if c.has&(1<<i) != 0 {
			q.count[i]++
		}
	}
	if len(q.found) < maxCandidates {
		q.found = append(q.found, c)
	}
}

// result ranks the candidates: a word's weight falls with the number of texts that have it. A
// question of several words needs two of them in one text, or a rare one.
func (q *question) result(cut []string) Result {
	r := Result{Question: q.text, Words: q.words, Searched: q.in, Hits: []Hit{}, Cut: cut}
	q.weigh()
	perFile, perSource := map[string]int{}, map[Source]int{}
	for _, c := range q.found {
		if len(r.Hits) == maxHits || len(r.Hits) > 0 && c.hit.Weight < r.Hits[0].Weight/4 {
			break
		}
		if perFile[c.file] < maxPerFile && perSource[c.hit.Source] < maxOf {
			perFile[c.file]++
			perSource[c.hit.Source]++
			c.hit.Text = excerpt(q.focus(c.hit.Text))
			r.Hits = append(r.Hits, c.hit)
		}
	}
	return r
}

// weigh orders the hits.
func (q *question) weigh() {
	weights := make([]float64, len(q.stems))
	for i, n := range q.count {
		if n > 0 {
			weights[i] = math.Log(1 + float64(q.seen)/float64(n))
		}
	}
	for i := range q.found {
		c := &q.found[i]
		for w := range weights {
			if c.has&(1<<w) != 0 {
				c.hit.Weight += weights[w]
			}
		}
		c.hit.Weight *= of(c.hit.Source) / (1 + math.Log2(1+float64(len(c.hit.Text))/200)/6) // a long text has many words
		if strings.Contains(c.hit.Place, "test") {
			c.hit.Weight *= 0.7 // what a test tries is documented elsewhere
		}
	}
	slices.SortStableFunc(q.found, func(a, b candidate) int { return cmp.Compare(b.hit.Weight, a.hit.Weight) })
}

// of is a source's weight: prose for readers and declarations tell more than a line of code.
func of(s Source) float64 {
	switch s {
	case Symbols, Documents:
		return 1.3
	case Lessons, PostMortems:
		return 1.2
	case Dependencies:
		return 0.8
	}
	return 1
}

// focus is a text from its line with the most of the words on, if it is too long to be cited
// completely.
func (q *question) focus(text string) string {
	if len(text) <= maxExcerpt {
		return text
	}
	best, from, at := -1, 0, 0
	for line := range strings.Lines(text) {
		if n := bits.OnesCount32(q.holds(strings.ToLower(line))); n > best {
			best, from = n, at
		}
		at += len(line)
	}
	return text[from:]
}

// excerpt is a text for citing: one line, clean, bounded.
func excerpt(text string) string {
	return diag.Clean(diag.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "), maxExcerpt))
}
