package verifier

import (
	"context"
	"fmt"
	"maps"
	"strings"
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
		id, err := t.repo.OutputFrom(ctx, f.Data, "hash-object", "-w", "--no-filters", "--stdin")
		if err != nil {
			return "", fmt.Errorf("a file that is held out cannot be written: %w", err)
		}
		mode := "100644 "
		if f.Executable {
			mode = "100755 "
		}
		changes[f.Path] = mode + strings.TrimSpace(string(id))
	}
	if len(changes) == 0 {
		return tree, nil
	}
	return writeTree(ctx, t.repo, tree, indexInfo(changes))
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
