package orient

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"git-ward/agent/correct"
	"git-ward/agent/lookup"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
	"git-ward/protocols/record"
)

// Question is something that a task does not know, and who says so.
type Question struct {
	From string `json:"from"` // the directive, its plan, a verdict; "" for who asks
	Text string `json:"query"`
}

// Unknown is a known unknown: what is here about it, and what the search says.
type Unknown struct {
	Question
	Hits   []lookup.Hit `json:"hits"`
	Cut    []string     `json:"cut,omitempty"`    // what was not searched
	Asked  bool         `json:"asked,omitempty"`  // the search was
	Answer string       `json:"answer,omitempty"` // external text: untrusted
	Error  string       `json:"error,omitempty"`  // of the search
}

// Bounds: of unknowns that are looked for, those of them that the search is asked about,
// bytes of its answer that are kept, and of a question.
const (
	maxUnknowns = 32
	maxAsked    = 8
	maxAnswer   = 4 << 10
	maxQuestion = 500
)

// search is the second half of level 3: it searches the repository for the task and its open
// questions, and then the web.
func (r *Report) search(ctx context.Context, o Options) error {
	questions := append([]Question(nil), o.Unknowns...)
	if o.Task != "" {
		failed, err := verdicts(ctx, o)
		if err != nil {
			return err
		}
		questions = append(questions, failed...)
	}
	questions = questions[:min(len(questions), maxUnknowns)]
	if o.About != "" {
		questions = append(questions, Question{Text: o.About})
	}
	if len(questions) == 0 {
		return nil
	}
	var texts []string
	for _, q := range questions {
		texts = append(texts, q.Text)
	}
	finder := &lookup.Finder{Tree: o.Tree, Index: o.Index, Texts: append(r.Repository.texts(), ownTexts(ctx, o.Tree)...)}
	results, err := finder.Find(ctx, texts...)
	if err != nil {
		return err
	}
	if o.About != "" {
		r.About = &results[len(results)-1]
		questions = questions[:len(questions)-1]
	}
	for i, q := range questions {
		u := Unknown{Question: q, Hits: results[i].Hits, Cut: results[i].Cut}
		u.ask(ctx, o, i < maxAsked)
		r.Unknowns = append(r.Unknowns, u)
	}
	return nil
}

// ask searches the web, if a search is configured.
func (u *Unknown) ask(ctx context.Context, o Options, may bool) {
	if o.Search == nil || !may {
		return
	}
	u.Asked = true
	answer, err := o.Search(ctx, strings.ToValidUTF8(u.Text[:min(len(u.Text), maxQuestion)], ""))
	if err != nil {
		u.Error = errorText(err)
		return
	}
	u.Answer = strings.ToValidUTF8(answer[:min(len(answer), maxAnswer)], "")
}

// Finder looks for words where level 2 looks: the tree, and what earlier work has left.
// What of that cannot be read is left out.
func Finder(ctx context.Context, o Options) (*lookup.Finder, error) {
	r := new(Repository)
	r.Lessons, _, _ = correct.Known(ctx, o.Tree)
	r.Earlier, _ = earlier(ctx, o)
	f := &lookup.Finder{Tree: o.Tree, Texts: append(r.texts(), ownTexts(ctx, o.Tree)...)}
	return f, context.Cause(ctx)
}

// ownTexts are the untracked post-mortems and learnings of an agent's clone; a person's are
// tracked files.
func ownTexts(ctx context.Context, t *worktree.Tree) (list []lookup.Text) {
	dir, err := t.RecordDir(ctx)
	if err != nil || dir == "" {
		return nil
	}
	paths, err := t.Walk(dir, func(p string) bool {
		return strings.HasPrefix(p, dir+"/"+record.PostMortems+"/") || p == dir+"/"+record.Learnings
	})
	if err != nil {
		return nil
	}
	for _, p := range paths[:min(len(paths), 4*maxEarlier)] {
		data, err := t.Read(p, lesson.MaxPostMortem)
		if err != nil {
			continue
		}
		source := lookup.PostMortems
		if p == dir+"/"+record.Learnings {
			source = lookup.Lessons
		}
		list = append(list, lookup.Text{Source: source, Place: p, Body: string(data)})
	}
	return list
}

// texts are the lessons, learnings and post-mortems read in level 2.
func (r *Repository) texts() (list []lookup.Text) {
	for _, l := range r.Lessons {
		list = append(list, lookup.Text{Source: lookup.Lessons, Place: "lesson " + l.ID, Body: l.Lesson.String() + reason(l)})
	}
	for _, e := range r.Earlier {
		if e.Learnings != "" {
			list = append(list, lookup.Text{Source: lookup.Lessons, Place: e.Unit + " LEARNINGS.md", Body: e.Learnings})
		}
		if e.PostMortem != "" {
			list = append(list, lookup.Text{Source: lookup.PostMortems, Place: cmp.Or(e.Unit, "-") + " " + e.PostMortem, Body: e.LastWords})
		}
	}
	return list
}

// reason is what became of a lesson, if that says more.
func reason(l lesson.Lesson) string {
	if l.Reason == "" {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", l.Status, l.Reason)
}
