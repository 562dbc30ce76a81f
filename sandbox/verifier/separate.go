package verifier

import (
	"context"
	"maps"
	"slices"

	"git-ward/sandbox/verifier/broken"
)

// separate finds the commands that start the work as a process, which no test shares (PROOF-1). Two runs
// prove that, and any doubt leaves it unproved:
//
//   - Each program of the work that the command opened reports, while it is loaded, whether its process
//     was started for it. The command holds, each program reported so, and no other process loaded one.
//   - The programs exit with 0 before they do anything. The command fails: it does not believe their
//     exit code.
//
// Work that is written against this control can report falsely, and can fail where it should exit:
// `separate` describes how the command works with this work, and not with any work.
//
// A command that opened nothing of the work is separate, too. Files in a language that Loads does not
// support, and tests that the PM included, may run anywhere.
func (c *controlling) separate(ctx context.Context, f *Facts, attempts []*tried) error {
	programs := c.programs()
	names := slices.Sorted(maps.Keys(programs))
	ids, starts := map[string]int{}, map[string]bool{}
	for i, name := range names {
		ids[name] = i
	}
	tree := ""
	for _, a := range attempts {
		i := slices.IndexFunc(f.Replays[0], func(r Run) bool { return r.Command == a.Command })
		if i < 0 || f.Replays[0][i].Opened == nil {
			continue
		}
		watched := f.Replays[0][i].Opened
		opened, unknown := map[int]bool{}, false
		for name, entry := range c.work.do {
			if entry == "" || watched.Not == "" && !slices.Contains(watched.Files, name) {
				continue
			}
			id, program := ids[name]
			unknown = unknown || !program || !broken.MayLoad(name)
			opened[id] = true
		}
		if len(opened) == 0 {
			f.Separate = append(f.Separate, a.Name)
			continue
		}
		if unknown {
			continue
		}
		if tree == "" {
			var err error
			if tree, err = c.rewrite(ctx, c.work.tree, programs, func(name, text string) (string, bool) {
				starts[name] = broken.MayStart(name, text)
				return broken.Loads(name, text, broken.Loading{Word: c.word, ID: ids[name]})
			}); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(names, func(name string) bool { return starts[name] && opened[ids[name]] }) {
			continue
		}
		ok, err := c.outside(ctx, a.Command, tree, names, opened)
		if err != nil {
			return err
		}
		if ok {
			f.Separate = append(f.Separate, a.Name)
		}
	}
	return nil
}

// outside reports whether a command starts each of the numbered programs, or one that loads it, and does
// not hold if what it starts exits with 0 at once. The programs in tree report.
func (c *controlling) outside(ctx context.Context, cmd Command, tree string, names []string, opened map[int]bool) (bool, error) {
	run, err := c.once(ctx, tree, cmd, false)
	if err != nil || !c.holds(run) || run.all().Bytes > keptSize { // a line may be missing
		return false, err
	}
	loaded, started, outside := broken.Loaded(c.word, run.all().Said+"\n"+run.all().Tail)
	for id := range opened {
		outside = outside && loaded[id]
	}
	if !outside {
		return false, nil
	}
	ends := maps.Clone(c.work.do)
	maps.DeleteFunc(ends, func(name, _ string) bool { return !started[slices.Index(names, name)] })
	tree, err = c.rewrite(ctx, c.work.tree, ends, func(name, text string) (string, bool) {
		return broken.Loads(name, text, broken.Loading{Word: c.word, ID: slices.Index(names, name), Ends: true})
	})
	if err != nil || tree == c.work.tree {
		return false, err
	}
	if run, err = c.once(ctx, tree, cmd, false); err != nil || run.all().Bytes > keptSize {
		return false, err
	}
	_, started, outside = broken.Loaded(c.word, run.all().Said+"\n"+run.all().Tail)
	return outside && len(started) > 0 && !c.holds(run), nil
}
