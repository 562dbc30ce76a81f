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

// laid is a tree with the files that are held out, which come to a command by no other way: so
// the controls rewrite them as they do all tests.
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

// controls are those of the commands, which held: of what is held out with its files in both trees.
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

// heldSince counts the time that something of what is held out took.
func (t *trying) heldSince(began time.Time) { t.heldTime += time.Since(began) }

// even waits until what is held out has taken a time that says little of it: work can read what is
// held out while it runs, and take longer by it. A verdict comes when that has taken a second, or
// two, or four, so that a claim learns no more of it than one of these (PROOF-5).
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
