package verifier

import (
	"context"
	"maps"
	"slices"
	"strings"

	"git-ward/sandbox/verifier/broken"
)

// replaced finds functions of a language or a runner that a test uses and the work replaces (PROOF-3):
// a clock, a function that reads the expected values, or one that compares. One that is also replaced
// without the work, or with work that does nothing, is the test's own doing. If the test runs in neither
// case, so is one that a file outside the work defines.
func (c *controlling) replaced(ctx context.Context, f *Facts, a *tried) error {
	with, err := c.tests(ctx, c.work.tree, c.telling, c.work.tree)
	if err != nil {
		return err
	}
	run, err := c.once(ctx, with, a.Command, false)
	if err != nil {
		return err
	}
	found := broken.Replaced(c.word, run.all().Said)
	puts, err := c.puts(ctx)
	if err != nil || len(found)+len(puts) == 0 {
		return err
	}
	base, err := c.tests(ctx, c.base, c.telling, c.base)
	if err != nil {
		return err
	}
	hollow, err := c.hollowed(ctx, func(name, text string) (string, bool) {
		if !broken.CanHollow(name) { // the work is there as it is
			return "", false
		}
		return c.telling(name, text)
	})
	if err != nil {
		return err
	}
	seen := map[int]bool{}
	for _, tree := range []string{base, hollow} {
		if tree == "" {
			continue
		}
		run, err := c.once(ctx, tree, a.Command, false)
		if err != nil {
			return err
		}
		_, ran := c.said(&run.Outcome)
		maps.Copy(seen, ran)
		for one, tests := range broken.Replaced(c.word, run.all().Said) {
			if one.Label == broken.Unseen || tree == hollow && strings.HasPrefix(one.Label, broken.Module) {
				continue // which is no test's doing: a hollow module is the work's
			}
			for id := range tests {
				delete(found[one], id)
			}
		}
	}
	inOrder := func(a, b broken.Found) int { return strings.Compare(a.Label, b.Label) }
	for _, one := range slices.SortedFunc(maps.Keys(found), inOrder) {
		for _, id := range slices.Sorted(maps.Keys(found[one])) { // a verdict is cut at its bound
			file, _, _ := strings.Cut(c.names[id], ": ")
			if _, changed := c.work.do[file]; changed || !seen[id] && c.othersMade(found[one][id]) {
				continue
			}
			if strings.HasPrefix(one.Label, broken.Module) && !slices.ContainsFunc(found[one][id], c.adds) {
				continue
			}
			list := &f.Replaced
			if one.Ended {
				list = &f.Lost
			}
			a.names(list, file+": "+one.Label)
		}
	}
	for _, one := range slices.SortedFunc(maps.Keys(puts), func(a, b put) int { return strings.Compare(a.label, b.label) }) {
		for _, file := range puts[one] {
			if ofFile := func(id int) bool { of, _, _ := strings.Cut(c.names[id], ": "); return of == file }; contains(a.ran, ofFile) && (!one.ifRan || contains(seen, ofFile)) {
				a.names(&f.Replaced, file+": "+one.label)
			}
		}
	}
	return nil
}

// names adds a doubt about a command to a list, unless the command is held out.
func (a *tried) names(list *[]string, what string) {
	if a.Held {
		a.any = true
	} else if !slices.Contains(*list, what) {
		*list = append(*list, what)
	}
}

func contains(tests map[int]bool, which func(int) bool) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(tests)), which)
}

// adds reports whether the work adds a file, given its path or the end of it.
func (c *controlling) adds(file string) bool {
	for name, now := range c.work.do {
		if now != "" && c.work.main[name] == "" && strings.HasSuffix("/"+name, "/"+file) {
			return true
		}
	}
	return false
}

// othersMade reports whether the replacement of a function always comes from files outside the work.
func (c *controlling) othersMade(by []string) bool {
	return !slices.ContainsFunc(by, func(file string) bool { return !slices.Contains(c.work.others, file) })
}
