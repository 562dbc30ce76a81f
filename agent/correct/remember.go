package correct

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
)

// Bounds of what is remembered: pushes of lessons that are looked at, notes read, and bytes of
// them.
const (
	maxPushes    = 2000
	maxNotes     = 20_000
	maxNoteBytes = 64 << 20
)

// Left counts, by directive, older pushes or notes of lessons that were not read for lack of
// room; "" counts those of no single directive.
type Left map[string]int

// String says it in the order of the directives, "" for nothing.
func (l Left) String() string {
	var parts []string
	for _, directive := range slices.Sorted(maps.Keys(l)) {
		parts = append(parts, fmt.Sprintf("%d of %s", l[directive], cmp.Or(directive, "several")))
	}
	return strings.Join(parts, ", ")
}

// Remember reads the lessons in refs/notes/lessons of a clone: the memory across
// directives, whether their branches were merged or not. Lines that are no
// lessons are left out: any branch's file gets there. The order is by date.
//
// The directives take turns, the newest of each first, so that one that pushes very many fills no
// other's share. What there was no room for is left.
func Remember(ctx context.Context, t *worktree.Tree) (list []lesson.Lesson, left Left, err error) {
	repo, err := t.Repo(ctx)
	if err != nil {
		return nil, nil, err
	}
	if tip, err := repo.Ref(ctx, lesson.Ref); err != nil || tip == git.Zero {
		return nil, nil, err
	}
	left = Left{}
	notes, err := notesInTurn(ctx, t, left)
	if err != nil {
		return nil, nil, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	m := memory{at: map[ownID]int{}}
	total := 0
	for i, n := range notes {
		if i == maxNotes {
			for _, n := range notes[i:] {
				left[n.directive]++
			}
			break
		}
		_, data, err := batch.Read(n.blob, maxNoteBytes-int64(total))
		if _, ok := errors.AsType[*git.TooLarge](err); ok || errors.Is(err, git.ErrMissing) {
			left[n.directive]++
			continue // an unreadable memory must not stop the work
		}
		if err != nil {
			return nil, nil, err
		}
		total += len(data)
		m.note(data)
	}
	list = m.list
	slices.SortStableFunc(list, func(a, b lesson.Lesson) int { return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.ID, b.ID)) })
	return list, left, nil
}

// note is one blob of refs/notes/lessons as its newest push left it.
type note struct{ directive, path, blob string }

// notesInTurn are the notes that fit: the newest of each directive, then the second newest,
// and so on. The host's commit message on a note names its directive.
func notesInTurn(ctx context.Context, t *worktree.Tree, left Left) ([]note, error) {
	out, err := t.Git(ctx, "rev-list", "--no-commit-header", "--format=%H %(trailers:key="+lesson.TrailerOf+",valueonly,separator=%x20)", lesson.Ref)
	if err != nil {
		return nil, err
	}
	var pushes []note // newest first, with the blob of that commit
	for line := range strings.Lines(out) {
		commit, directive, _ := strings.Cut(strings.TrimSpace(line), " ")
		pushes = append(pushes, note{directive: directive, blob: commit})
	}
	pushes = takeTurns(pushes, func(n note) string { return n.directive })
	for _, n := range pushes[min(len(pushes), maxPushes):] {
		left[n.directive]++
	}
	var in strings.Builder
	by := map[string]string{}
	for _, n := range pushes[:min(len(pushes), maxPushes)] {
		by[n.blob] = n.directive
		in.WriteString(n.blob + "\n")
	}
	raw, err := t.GitInput(ctx, nil, []byte(in.String()), "diff-tree", "--stdin", "--root", "-r", "--raw", "--no-renames", "--no-abbrev")
	if err != nil {
		return nil, err
	}
	tree, err := t.Git(ctx, "ls-tree", "-r", lesson.Ref)
	if err != nil {
		return nil, err
	}
	now := map[string]string{} // blobs by path: the history only gives the order
	for line := range strings.Lines(tree) {
		entry, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if words := strings.Fields(entry); len(words) == 3 {
			now[path] = words[2]
		}
	}
	var notes []note
	directive, known := "", map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		change, path, is := strings.Cut(strings.TrimSpace(line), "\t")
		words := strings.Fields(change)
		switch {
		case !is:
			directive = by[change]
		case len(words) < 5 || now[path] == "" || known[path]:
		default:
			known[path] = true
			notes = append(notes, note{directive, path, now[path]})
		}
	}
	return takeTurns(notes, func(n note) string { return n.directive }), nil
}

// memory merges lessons by id within each directive. An id has only 48 bits, so somebody could
// craft one that equals another directive's.
type memory struct {
	list []lesson.Lesson
	at   map[ownID]int
}

type ownID struct{ task, id string }

// note adds a note's lessons. It drops one whose id is known for its directive with another
// content: it was written by hand.
func (m *memory) note(text []byte) {
	for line := range bytes.Lines(text) {
		list, _ := lesson.Parse(line)
		for _, l := range list {
			i, known := m.at[ownID{l.TaskID, l.ID}]
			if !known {
				m.at[ownID{l.TaskID, l.ID}] = len(m.list)
				m.list = append(m.list, l)
			} else if merged, err := lesson.Merge(m.list[i:i+1], list); err == nil {
				m.list[i] = merged[0]
			}
		}
	}
}

// Own returns the lessons in the tree at the branch's tip.
func Own(ctx context.Context, t *worktree.Tree) ([]lesson.Lesson, error) {
	b, err := open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer b.close()
	_, list, err := b.lessons(ctx)
	return list, err
}

// Present are the lessons that hold where a tree is worked in: the branch's own, or
// control's and those of the unit's papers where the tree is a project's.
func Present(ctx context.Context, t *worktree.Tree) ([]lesson.Lesson, error) {
	control, err := t.Documents(ctx)
	if err != nil {
		return nil, err
	}
	if control == "" {
		return Own(ctx, t)
	}
	data, err := t.Document(ctx, lesson.Path, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list, found := lesson.Parse(data)
	papers, err := t.RecordDir(ctx)
	if err == nil && papers != "" {
		data, err = t.Read(path.Join(papers, lesson.Path), maxFile)
		own, bad := lesson.Parse(data)
		if found = append(found, bad...); err == nil {
			if list, err = lesson.Merge(list, own); err != nil {
				return nil, err
			}
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil && diag.HasErrors(found) {
		err = diag.Hint(fmt.Errorf("%s: %s", found[0].Pos, found[0].Message), "%s", found[0].Hint)
	}
	return list, err
}

// Note adds lessons to the papers of an agent's clone, and says how many were new. They
// are carried out when the unit ends, on a branch that begins at control.
func Note(ctx context.Context, t *worktree.Tree, list []lesson.Lesson) (int, error) {
	name, err := t.RecordPath(ctx, lesson.Path)
	if err != nil {
		return 0, err
	}
	data, err := t.Read(name, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	data, n, err := lesson.Add(data, list)
	if err != nil || n == 0 {
		return 0, err
	}
	return n, t.Write(name, data)
}

// Known are the lessons that hold in the tree, and those that are remembered besides. What
// the tree says of a lesson counts: it may be applied elsewhere, and not here.
func Known(ctx context.Context, t *worktree.Tree) ([]lesson.Lesson, Left, error) {
	all, err := Present(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	own := map[ownID]bool{}
	for _, l := range all {
		own[ownID{l.TaskID, l.ID}] = true
	}
	remembered, left, err := Remember(ctx, t)
	for _, l := range remembered {
		if !own[ownID{l.TaskID, l.ID}] {
			all = append(all, l)
		}
	}
	return all, left, err
}

// maxLessonBytes and maxLessons bound what a prompt tells of earlier directives; maxLesson and
// maxName, in bytes, one lesson's words and names in it; `git ward lesson list --all` lists all.
const (
	maxLessonBytes = 32 << 10
	maxLessons     = 100
	maxLesson      = 1 << 10
	maxName        = 100
)

// Text returns the newest lessons as Markdown, and their number. The directives take turns, so
// that one whose lessons are many, long or dated in the future leaves room for the others'.
func Text(list []lesson.Lesson, left Left) (text string, told int) {
	var b strings.Builder
	for _, l := range inTurn(list) {
		line := fmt.Sprintf("- %s (%s, %s): %s [%s]\n", diag.Cut(l.ID, maxName), diag.Cut(diag.Clean(l.TaskID), maxName), l.Status,
			diag.Cut(l.Lesson.String(), maxLesson), diag.Cut(Summary(l.Action), maxLesson))
		if told == maxLessons || b.Len()+len(line) > maxLessonBytes {
			break
		}
		b.WriteString(line)
		told++
	}
	if told == 0 {
		return "", 0
	}
	return "# Lessons of earlier directives\n\nThe newest of each directive first; those of branches that are not merged are among them.\n\n" + b.String() + left.line(), told
}

// inTurn are the lessons, the newest of each directive first, then the second newest.
func inTurn(list []lesson.Lesson) []lesson.Lesson {
	list = slices.Clone(list)
	slices.Reverse(list)
	return takeTurns(list, func(l lesson.Lesson) string { return l.TaskID })
}

// line says in a prompt what was left out, "" for nothing.
func (l Left) line() string {
	if len(l) == 0 {
		return ""
	}
	return "\nOlder lessons that were not read for want of room, by pushes or notes: " + diag.Cut(diag.Clean(l.String()), maxLesson) + ".\n"
}

// takeTurns orders a list round-robin among its owners, each in its own order.
func takeTurns[T any](list []T, of func(T) string) []T {
	round := map[string]int{} // how many there are, by owner
	var rounds [][]T
	for _, x := range list {
		n := round[of(x)]
		round[of(x)]++
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], x)
	}
	return slices.Concat(rounds...)
}
