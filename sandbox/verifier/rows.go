package verifier

import (
	"context"
	"maps"
	"slices"
	"strings"

	"git-ward/sandbox/verifier/broken"
)

// rows finds rows of tests that pass, or begin, without the work and not with it, and loops that end a
// round without it and begin none with it, although the command holds (PROOF-4): a test passes over a
// table that the work emptied. If no row runs without the work, the comparison is with work whose
// functions do nothing. A test that the claim changed may have other rows. A row counts if two runs of
// each tree agree, because names may be random.
func (c *controlling) rows(ctx context.Context, f *Facts, a *tried) error {
	may, texts := false, map[string]string{}
	tree, err := c.tests(ctx, c.base, func(name, text string) (string, bool) {
		may, texts[name] = may || broken.MayRow(name, text), text
		return c.telling(name, text)
	}, c.base)
	if err != nil || !may || a.Held || tree == c.base {
		return err
	}
	with, err := c.tests(ctx, c.work.tree, c.telling, c.work.tree)
	if err != nil {
		return err
	}
	missing, hollow := map[string]int{}, false
	for _, anew := range []bool{false, true} {
		before, _, err := c.passed(ctx, tree, a.Command, anew)
		if err == nil && !anew && len(before) == 0 { // as a base does that cannot be built yet
			if tree, err = c.hollowed(ctx, c.telling); err == nil && tree != "" {
				before, _, err = c.passed(ctx, tree, a.Command, anew)
			}
			hollow = true
		}
		if err != nil {
			return err
		}
		if !anew {
			missing = maps.Clone(before)
		}
		maps.DeleteFunc(missing, func(row string, id int) bool {
			file, _, _ := strings.Cut(c.names[id], ": ")
			_, again := before[row]
			_, changed := c.work.do[file]
			return !again || changed || !a.ran[id] || strings.HasSuffix(row, broken.Begins)
		})
		if len(missing) == 0 { // then the work need not run
			return nil
		}
		now, whole, err := c.passed(ctx, with, a.Command, anew)
		if err != nil || !whole {
			a.unsure = a.unsure || err == nil // who prints more than is kept hides its rows
			return err
		}
		maps.DeleteFunc(missing, func(row string, id int) bool {
			_, passes := now[row]
			_, begins := now[row+broken.Begins] // a loop that another row ends early
			if passes || begins || !hollow {
				return passes || begins
			}
			file, _, _ := strings.Cut(c.names[id], ": ")
			return !broken.Titled(row, texts[file]) && started(now, id) >= started(before, id)
		})
		if len(missing) == 0 {
			return nil
		}
	}
	for _, row := range slices.Sorted(maps.Keys(missing)) {
		file, _, _ := strings.Cut(c.names[missing[row]], ": ")
		_, name, _ := strings.Cut(strings.TrimSuffix(row, broken.Started), ":")
		if said := file + ": " + strings.TrimPrefix(name, file+"::"); !slices.Contains(f.Lost, said) {
			f.Lost = append(f.Lost, said)
		}
	}
	return nil
}

// started counts the rows of a test that began.
func started(rows map[string]int, id int) (n int) {
	for row, of := range rows {
		if of == id && strings.HasSuffix(row, broken.Started) {
			n++
		}
	}
	return n
}

// passed lists the rows that pass when a command runs on a tree whose tests report. whole: the command
// holds, and none of its output was dropped.
func (c *controlling) passed(ctx context.Context, tree string, cmd Command, anew bool) (rows map[string]int, whole bool, err error) {
	run, err := c.once(ctx, tree, cmd, anew)
	o := run.all()
	return broken.Rows(c.word, o.Said), c.holds(run) && o.Bytes <= keptSize, err
}
