package correct

import (
	"context"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/worktree"
	"git-ward/protocols/charter"
	"git-ward/protocols/lesson"
)

// Done is a lesson that a commit carried out, or marked as failed.
type Done struct {
	Lesson lesson.Lesson // with its new status and reason
	Commit string
	Files  []string // changed files, lessons.jsonl among them
}

// Apply makes one commit of each pending lesson of the branch that is checked
// out, in their order, and calls done after each. Where none is pending it does
// nothing.
func Apply(ctx context.Context, t *worktree.Tree, done func(Done)) error {
	for {
		d, err := applyNext(ctx, t)
		if err != nil || d == nil {
			return err
		}
		done(*d)
	}
}

// applyNext applies the first pending lesson and returns it, nil for none.
func applyNext(ctx context.Context, t *worktree.Tree) (*Done, error) {
	b, err := open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer b.close()
	data, list, err := b.lessons(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		if l.Status == lesson.Pending {
			return b.apply(ctx, data, l)
		}
	}
	return nil, nil
}

// lessons reads the commit's lessons.
func (b *base) lessons(ctx context.Context) ([]byte, []lesson.Lesson, error) {
	data, err := b.file(ctx, lesson.Path)
	if err != nil {
		return nil, nil, err
	}
	list, found := lesson.Parse(data)
	if diag.HasErrors(found) {
		return nil, nil, diag.Hint(fmt.Errorf("%s: %s", found[0].Pos, found[0].Message), "%s", found[0].Hint)
	}
	return data, list, nil
}

func (b *base) apply(ctx context.Context, data []byte, l lesson.Lesson) (*Done, error) {
	tree, err := b.lessonTree(ctx)
	if err != nil {
		return nil, err
	}
	files, err := l.Replay(tree)
	status, reason, err := l.Outcome(files, err)
	if err != nil {
		return nil, err
	}
	l.Status, l.Reason = status, diag.Untrusted(reason)
	marked, err := lesson.Mark(data, l.ID, l.Status, l.Reason.Raw())
	if err != nil {
		return nil, err
	}
	files = append(files, charter.File{Path: lesson.Path, Data: marked})
	d := &Done{Lesson: l}
	for _, f := range files {
		d.Files = append(d.Files, f.Path)
	}
	d.Commit, err = b.commit(ctx, files, message(l))
	return d, err
}

// maxWords bounds the lesson's text in a commit message.
const maxWords = 4 << 10

// message is the commit's message: the change, its reason, and the trailer by which the hook
// verifies it.
func message(l lesson.Lesson) string {
	subject := "lesson: " + Summary(l.Action)
	if l.Status != lesson.Applied {
		subject = fmt.Sprintf("lesson: mark %s %s", l.ID, l.Status)
	}
	words := []string{subject, l.Lesson[:min(len(l.Lesson), maxWords)].String()}
	if l.Reason != "" {
		words = append(words, strings.ToUpper(string(l.Status[:1]))+string(l.Status[1:])+": "+l.Reason.String())
	}
	return strings.Join(append(words, fmt.Sprintf("%s: %s", lesson.Trailer, l.ID)), "\n\n") + "\n"
}

// Summary describes an action on one line.
func Summary(a lesson.Action) string {
	p := a.Parameters
	switch a.Command {
	case string(charter.AddTool):
		return clip(fmt.Sprintf("add tool %q to protocol %s", p.Tool, p.Protocol))
	case string(charter.RemoveTool):
		return clip(fmt.Sprintf("deprecate tool %q from protocol %s", p.Tool, p.Protocol))
	case string(charter.UpdateRule):
		return clip(fmt.Sprintf("update rule %s in protocol %s", p.Rule, p.Protocol))
	case lesson.DiffTool:
		return clip("change " + p.File)
	}
	return "none"
}

func clip(s string) string { return diag.Clean(diag.Cut(s, 100)) }

// Record adds lessons to the branch that is checked out by one commit, and says
// how many were new; without a new one it makes no commit.
func Record(ctx context.Context, t *worktree.Tree, from string, list []lesson.Lesson) (int, error) {
	b, err := open(ctx, t)
	if err != nil {
		return 0, err
	}
	defer b.close()
	data, err := b.file(ctx, lesson.Path)
	if err != nil {
		return 0, err
	}
	data, n, err := lesson.Add(data, list)
	if err != nil || n == 0 {
		return 0, err
	}
	_, err = b.commit(ctx, []charter.File{{Path: lesson.Path, Data: data}},
		fmt.Sprintf("lesson: extract %d from %s\n", n, clip(from)))
	return n, err
}
