package walk

import (
	"errors"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/git"
)

// RevList is git rev-list's answer to its arguments: object ids, the newest first.
func (w *Walker) RevList(args ...string) ([]string, error) {
	out, err := w.repo.Output(w.ctx, append(append([]string{"rev-list"}, args...), "--")...)
	return strings.Fields(string(out)), err
}

// MergeBase is a merge base of two commits, "" when they share nothing or one is "".
func (w *Walker) MergeBase(a, b string) (string, error) {
	if a == "" || b == "" {
		return "", nil
	}
	if c, ok := w.commits.kept[a]; ok && (a == b || slices.Contains(c.Parents, b)) {
		return b, nil // as most are asked for
	}
	out, err := w.repo.Output(w.ctx, "merge-base", a, b)
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// Difference settles what a tip is compared with, where Fresh has not, and finds what
// it changes.
func (w *Walker) Difference(t *Tip) error {
	if err := w.base(t); err != nil {
		return err
	}
	before := ""
	if t.Base != "" {
		base, err := w.Commit(t.Base)
		if err != nil {
			return err
		}
		before = base.Tree
	}
	return w.Compare([]string{before}, t.Commit.Tree, func(c Change) error {
		t.Changes = append(t.Changes, c)
		return nil
	})
}

func (w *Walker) base(t *Tip) error {
	if t.Base != "" {
		return nil
	}
	if t.History == push.Records { // of which nothing is main's
		if t.Forward = true; t.Old != git.Zero {
			t.Base = t.Old
		}
		return nil
	}
	if t.Old != git.Zero {
		forward, err := w.repo.Exits(w.ctx, "merge-base", "--is-ancestor", t.Old, t.New)
		if err != nil {
			return err
		}
		if forward {
			t.Base, t.Forward = t.Old, true
			return nil
		}
	}
	base, err := w.MergeBase(t.New, w.Main(t.History))
	t.Base = base
	return err
}

// RefNames lists the refs below prefixes that end in a slash, by full name.
func (w *Walker) RefNames(prefixes ...string) ([]string, error) {
	var names []string
	for _, prefix := range prefixes {
		tips, err := w.repo.Refs(w.ctx, prefix)
		if err != nil {
			return nil, err
		}
		for _, tip := range tips {
			names = append(names, tip.Name)
		}
	}
	return names, nil
}

// Abbreviated is an object whose id begins with some hexadecimal digits, "" when there
// is none.
func (w *Walker) Abbreviated(digits string) (string, error) {
	out, err := w.repo.Output(w.ctx, "rev-parse", "--disambiguate="+digits)
	id, _, _ := strings.Cut(string(out), "\n")
	return id, err
}
