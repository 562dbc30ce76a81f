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

// Question is an open question of a task, and who asks it.
type Question struct {
	From string `json:"from"` // the directive, its plan, a verdict; "" for the caller
	Text string `json:"query"`
}

// Unknown is a question with what the repository and the search say about it.
type Unknown struct {
	Question
	Hits   []lookup.Hit `json:"hits"`
	Cut    []string     `json:"cut,omitempty"`    // what was not searched
	Asked  bool         `json:"asked,omitempty"`  // the web was searched
	Answer string       `json:"answer,omitempty"` // from the web: untrusted
	Error  string       `json:"error,omitempty"`  // of the search of the web
}

// The limits: questions, those of them that are searched for on the web, bytes of an answer, and bytes
// of a question.
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

// Finder returns a finder that searches what level 2 reads: the tree, lessons, and the records of
// earlier units. It leaves out what cannot be read.
func Finder(ctx context.Context, o Options) (*lookup.Finder, error) {
	r := new(Repository)
	r.Lessons, _, _ = correct.Known(ctx, o.Tree)
	r.Earlier, _ = earlier(ctx, o)
	f := &lookup.Finder{Tree: o.Tree, Texts: append(r.texts(), ownTexts(ctx, o.Tree)...)}
	return f, context.Cause(ctx)
}

// ownTexts returns the untracked post-mortems and learnings of an agent's clone. In a person's clone
// these are tracked files.
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

// texts returns the lessons, learnings and post-mortems read in level 2.
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

// reason returns a lesson's status in brackets, if it has a reason.
func reason(l lesson.Lesson) string {
	if l.Reason == "" {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", l.Status, l.Reason)
}
