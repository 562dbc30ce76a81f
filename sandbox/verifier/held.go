package verifier

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// File is one that the PM holds out (PROOF-5).
type File struct {
	Path       string `json:"path"` // in the tree, with slashes
	Executable bool   `json:"executable"`
	Data       []byte `json:"data"`
}

// split parts commands into those that everybody sees and those that are held out.
func split(commands []Command) (shown, held []Command) {
	for _, cmd := range commands {
		if cmd.Held {
			held = append(held, cmd)
		} else {
			shown = append(shown, cmd)
		}
	}
	return shown, held
}

// laid returns a tree with the held-out files added. Commands get them in no other way, so the controls
// rewrite them like all tests.
func (t *trying) laid(ctx context.Context, tree string) (string, error) {
	changes := map[string]string{}
	for _, f := range t.claim.Held {
		id, err := t.repo.WriteObject("blob", f.Data)
		if err != nil {
			return "", fmt.Errorf("a file that is held out cannot be written: %w", err)
		}
		mode := "100644 "
		if f.Executable {
			mode = "100755 "
		}
		changes[f.Path] = mode + id
	}
	if len(changes) == 0 {
		return tree, nil
	}
	return writeTree(ctx, t.repo, tree, changes)
}

// controls runs the controls of commands that held; held-out ones have their files in both trees.
func (t *trying) controls(ctx context.Context, f *Facts, o *overlaid, commands []Command) error {
	base, err := writeTree(ctx, t.repo, t.claim.Base, nil)
	if err != nil {
		return err
	}
	t.once.ends, t.once.base = t.claim.Ends, base
	shown, held := split(commands)
	if len(shown) > 0 {
		err = t.control(ctx, f, o, base, shown)
	}
	if err != nil || len(held) == 0 {
		return err
	}
	defer t.heldSince(time.Now())
	defer t.judged.only(t.judged.trees())
	laid := *o
	if laid.tree, err = t.laid(ctx, o.tree); err != nil {
		return err
	}
	if base, err = t.laid(ctx, base); err != nil {
		return err
	}
	laid.do = maps.Clone(o.do)
	for _, file := range t.claim.Held {
		delete(laid.do, file.Path) // the PM's stands in its place
	}
	return t.control(ctx, f, &laid, base, held)
}

// heldSince adds the time since began to what the held-out commands took.
func (t *trying) heldSince(began time.Time) { t.heldTime += time.Since(began) }

// even waits until the time of the held-out commands is rounded up to 1, 2, 4, 8, ... seconds. Work can
// read held-out files while it runs, and tell about them by taking longer; so it can tell only which of
// these (PROOF-5).
func even(ctx context.Context, took time.Duration) error {
	if took == 0 { // nothing is held out
		return nil
	}
	whole := time.Second
	for whole < took {
		whole *= 2
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(whole - took):
		return nil
	}
}
