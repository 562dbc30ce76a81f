package verifier

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"git-ward/internal/sources"
	"git-ward/sandbox/verifier/broken"
)

// maxKinds bounds the kinds of files for which Ward checks whether a command compares with them.
const maxKinds = 8

// readAnswers marks attempts whose program reads its answer from the very file that it is compared with
// (PROOF-3): they hold whatever that file says. Which files a command compares with is observed. With
// programs that do nothing and print nothing, it opens them, and it holds once they are empty. A command
// that holds with such programs anyway compares with no file: the programs decide its exit code.
func (c *controlling) readAnswers(ctx context.Context, attempts []*tried) error {
	silent, err := c.rewrite(ctx, c.work.tree, c.programs(), func(name, text string) (string, bool) { return broken.Exits(name, text, 0) })
	if err != nil || silent == c.work.tree {
		return err
	}
	for _, a := range attempts {
		if a.Held || a.Residual || a.any || a.untried || a.decided || slices.Contains(c.guards, a.Command) {
			continue
		}
		if a.any, err = c.readsAnswers(ctx, a.Command, silent); err != nil {
			return err
		}
	}
	return nil
}

// readsAnswers reports whether a command holds whatever is in a kind of files that it compares with.
func (c *controlling) readsAnswers(ctx context.Context, cmd Command, silent string) (bool, error) {
	data := slices.DeleteFunc(slices.Clone(c.work.others), func(name string) bool {
		return c.checks[name] || sources.IsProgram(name) || strings.HasPrefix(c.work.main[name], "100755 ")
	})
	runs, err := c.each(ctx, c.runner, silent, []Command{cmd}, Step{Note: Broken}, Job{Watch: data})
	if err != nil || c.holds(runs[0]) || runs[0].Opened == nil {
		return false, err
	}
	kinds := map[string]sources.Tree{}
	for _, name := range runs[0].Opened.Files {
		kinds[kindOfFile(name)] = sources.Tree{}
	}
	for _, name := range data { // a loop over files ends at the first that differs
		if files := kinds[kindOfFile(name)]; files != nil {
			files[name] = c.work.main[name]
		}
	}
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		if i == maxKinds {
			break
		}
		files := kinds[kind]
		compared, err := c.holdsWith(ctx, silent, cmd, files, func(_, text string) (string, bool) { return "", text != "" })
		if err != nil {
			return false, err
		}
		if !compared {
			continue
		}
		if whatever, err := c.holdsWith(ctx, c.work.tree, cmd, files, func(_, text string) (string, bool) { return broken.OtherLines(text) }); err != nil || whatever {
			return whatever, err
		}
	}
	return false, nil
}

// kindOfFile returns a pattern for the files of one directory and extension, or the name if it has none.
func kindOfFile(name string) string {
	if ext := path.Ext(name); ext != "" {
		return path.Join(path.Dir(name), "*"+ext)
	}
	return name
}

// holdsWith reports whether a command holds after some files were changed; false if none was.
func (c *controlling) holdsWith(ctx context.Context, onto string, cmd Command, files sources.Tree, how rewriter) (bool, error) {
	tree, err := c.rewrite(ctx, onto, files, how)
	if err != nil || tree == onto {
		return false, err
	}
	held, err := c.holding(ctx, tree, []Command{cmd}, Broken)
	return len(held) > 0, err
}
