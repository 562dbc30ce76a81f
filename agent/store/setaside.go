package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"git-ward/agent/stop"
	"git-ward/internal/diag"
	"git-ward/protocols/record"
)

// SetAside pushes what the working tree holds, which the remote does not take as the branch's, to
// a branch of its own for the PM to look at: without the paths that the remote names. It returns
// the branch, "" where nothing is left that it takes, and those paths.
func (w *Work) SetAside(ctx context.Context) (branch string, without []string, err error) {
	branch = "rescue/" + w.Directive.Name() + "-" + time.Now().UTC().Format("20060102T150405Z")
	for len(without) <= maxShown {
		tree, changes, err := w.Changed(ctx, w.base, without...)
		if err != nil || len(changes) == 0 {
			return "", without, err
		}
		text := message("agent: what was refused as work", "", []string{record.TrailerDirective + ": " + w.Directive.Name()})
		commit, err := w.clone.git(ctx, "commit-tree", tree, "-p", w.base, "-m", text)
		if err != nil {
			return "", without, err
		}
		err = w.clone.push(ctx, commit, branch)
		refused := stop.As(err, stop.Refused)
		if refused == nil {
			if err != nil {
				branch = ""
			}
			return branch, without, err
		}
		more := named(refused, without)
		if len(more) == 0 {
			return "", without, fmt.Errorf("what was refused cannot be put aside: %w", err)
		}
		without = append(without, more...)
	}
	return "", without, nil
}

// named are the paths that a refusal names besides those left out already; none if leaving
// paths out would not help.
func named(refused *stop.Stop, without []string) (paths []string) {
	for _, f := range refused.Findings {
		switch {
		case f.Severity != diag.Error, slices.Contains(paths, f.Path):
		case f.Path == "" || slices.Contains(without, f.Path):
			return nil
		default:
			paths = append(paths, f.Path)
		}
	}
	return paths
}
