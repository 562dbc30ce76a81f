package verifier

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// rewriting records which files outside the work the commands wrote to: a command that starts the work
// before its tests lets the work rewrite them. Files that a command also writes to without the work do
// not count.
func (t *trying) rewriting(ctx context.Context, f *Facts, o *overlaid, runs []Run) error {
	if f.Same { // all of it is the commands' own
		return nil
	}
	any := false
	for _, r := range runs {
		files, not := r.rewritten()
		any = any || len(files) > 0
		f.RewrittenNot = cmp.Or(f.RewrittenNot, not)
	}
	if !any {
		return nil
	}
	base, err := writeTree(ctx, t.repo, t.claim.Base, nil)
	if err != nil {
		return err
	}
	shown, _ := split(t.claim.Commands)
	without, err := t.each(ctx, t.runner, base, shown, Step{Note: before}, Job{Guard: o.others})
	if err != nil {
		return err
	}
	rewritten := map[string]bool{}
	for i, r := range without { // shown commands come first in a run
		own := map[string]bool{}
		files, _ := r.rewritten()
		for _, name := range files {
			own[name] = true
		}
		files, _ = runs[i].rewritten()
		for _, name := range files {
			rewritten[name] = rewritten[name] || !own[name]
		}
	}
	maps.DeleteFunc(rewritten, func(_ string, work bool) bool { return !work })
	f.Rewritten = slices.Sorted(maps.Keys(rewritten))
	return nil
}

// rewritten lists the guarded files that a command wrote to. not says why it may have been any of them.
func (o *Outcome) rewritten() (files []string, not string) {
	if o.Opened == nil {
		return nil, ""
	}
	return o.Opened.Rewritten, o.Opened.RewrittenNot
}
