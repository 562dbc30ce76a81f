package verifier

import (
	"cmp"
	"context"
	"slices"
)

// keep has f say which files that are no work the commands wrote to: a command that starts the
// work before its tests lets the work rewrite them. What commands write to without the work,
// they write to of themselves.
func (t *trying) keep(ctx context.Context, f *Facts, o *overlaid, runs []Run) error {
	f.Rewritten, f.NotKept = rewritten(runs)
	if len(f.Rewritten) == 0 || f.Same {
		return nil
	}
	base, err := writeTree(ctx, t.repo, t.claim.Base, nil)
	if err != nil {
		return err
	}
	shown, _ := split(t.claim.Commands)
	without, err := t.each(ctx, t.runner, base, shown, Step{Note: before}, Job{Kept: o.kept})
	if err != nil {
		return err
	}
	own, _ := rewritten(without)
	f.Rewritten = slices.DeleteFunc(f.Rewritten, func(name string) bool { return slices.Contains(own, name) })
	return nil
}

// rewritten are the kept files that runs wrote to, and why there may be more.
func rewritten(runs []Run) (files []string, not string) {
	for _, r := range runs {
		if r.Opened != nil {
			files = append(files, r.Opened.Rewritten...)
			not = cmp.Or(not, r.Opened.NotKept)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), not
}
