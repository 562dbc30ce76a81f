package verifier

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/internal/sources"
	"git-ward/protocols/loop"
	"git-ward/sandbox/verifier/broken"
)

// The controls of a proof (PROOF-3). Before, in which the work is not there, is a part of
// Broken, in which each test fails at its end.
const (
	Broken = "broken"
	before = "before"
)

// Control is what became of a command that held: without the work, and once each test failed
// at its end.
type Control struct {
	Name   string `json:"name"`   // of the command
	Before bool   `json:"before"` // it held without the work, too, and with its tests
	Says   string `json:"says"`   // as protocols/loop has it
}

// controlling is a control under way.
type controlling struct {
	*trying
	work *overlaid
	base string // the tree without the work
	// before are the commands that held on the base, guards those of them that hold there
	// with the work's tests, too.
	before, guards []Command
	checks         map[string]bool // programs that check others, by path
	baseAtEnd      []Run           // of before on the base, with each test failing at its end
}

// control runs each command that held once more without the work, which says whether the work
// made it hold, and once with each test failing at its end. One that then holds all the same
// cannot fail, if tests decide it: a work that ends its tests' process with 0 before they
// fail would else be no other than a command that runs none.
func (t *trying) control(ctx context.Context, f *Facts, work *overlaid) error {
	commands := slices.DeleteFunc(slices.Clone(t.claim.Commands), func(c Command) bool { return c.Own })
	base, err := writeTree(ctx, t.repo, t.claim.Base, nil)
	if err != nil {
		return err
	}
	c := &controlling{trying: t, work: work, base: base}
	if c.checks, err = c.findChecks(ctx); err != nil {
		return err
	}
	if base == work.tree { // identical trees run once
		c.before = commands
	} else if c.before, err = c.holding(ctx, base, commands, before); err != nil {
		return err
	}
	if c.guards, err = c.withTests(ctx); err != nil {
		return err
	}
	held := commands
	atEnd, err := c.tests(ctx, work.tree, c.atEnd, work.tree)
	if err == nil && (atEnd != work.tree || t.claim.Breaks != "") {
		var runs []Run
		if runs, err = c.broken(ctx, atEnd, commands); err == nil {
			held = holding(runs)
			f.Lost, err = c.lost(ctx, runs)
		}
	}
	if err != nil {
		return err
	}
	var decided []Command
	for _, decide := range []func(context.Context, []Command) ([]Command, error){c.onBase, c.byName, c.withoutBodies} {
		open := without(held, decided)
		if len(open) == 0 {
			break
		}
		more, err := decide(ctx, open)
		if err != nil {
			return err
		}
		decided = append(decided, more...)
	}
	any, err := c.anyValue(ctx, f, without(commands, held))
	if err != nil {
		return err
	}
	untried, err := c.untried(ctx, f, held, decided)
	if err != nil {
		return err
	}
	for _, cmd := range commands {
		says := loop.ControlNotApplicable
		switch {
		case slices.Contains(untried, cmd):
			says = loop.ControlNotTried
		case slices.Contains(decided, cmd):
			says = loop.ControlCannotFail
		case slices.Contains(any, cmd):
			says = loop.ControlAnyValue
		case !slices.Contains(held, cmd):
			says = loop.ControlFails
		}
		f.Controls = append(f.Controls, Control{cmd.Name, slices.Contains(c.guards, cmd), says})
	}
	return nil
}

// atEnd has tests, and what checks by its exit code, fail at their end.
func (c *controlling) atEnd(name, text string) (string, bool) {
	if c.checks[name] {
		return broken.CheckAtEnd(name, text, func(string) bool { return true })
	}
	return broken.AtEnd(name, text)
}

// findChecks finds the programs of the judged tree that check others: those among its tests,
// and those that a command names where it names no test. One is left out that takes in a file
// of which it is not known how that may end it.
func (c *controlling) findChecks(ctx context.Context) (map[string]bool, error) {
	tree, err := listTree(ctx, c.repo, c.work.tree, c.claim.Bounds)
	if err != nil {
		return nil, err
	}
	batch := c.repo.Batch(ctx)
	defer batch.Close()
	read := func(id string, limit int64) (string, bool) {
		_, data, err := batch.Read(id, limit)
		return string(data), err == nil
	}
	named := newWork(c.claim, tree, read).named
	known := map[string]bool{} // by the last part of a path: work, and programs that are sure
	for name := range c.work.do {
		known[path.Base(name)] = true
	}
	texts, tests := map[string]string{}, false
	for name, entry := range tree {
		if !broken.MayCheck(name) || !plain(entry) {
			continue
		}
		_, isWork := c.work.do[name]
		isTest, isNamed := sources.IsTest(name), named.Has(name)
		if !isTest && (isWork || !isNamed) {
			continue
		}
		_, id, _ := strings.Cut(entry, " ")
		text, ok := read(id, maxText)
		if _, has := broken.AtEnd(name, text); !ok || has {
			continue
		}
		texts[name], known[path.Base(name)] = text, true
		tests = tests || isTest && isNamed
	}
	maps.DeleteFunc(texts, func(name, _ string) bool { return tests && !sources.IsTest(name) })
	for before := -1; before != len(texts); { // each that goes may be known to another
		before = len(texts)
		maps.DeleteFunc(texts, func(name, text string) bool {
			_, sure := broken.CheckAtEnd(name, text, func(base string) bool { return known[base] })
			if _, isWork := c.work.do[name]; !sure && !isWork {
				delete(known, path.Base(name))
			}
			return !sure
		})
	}
	checks := map[string]bool{}
	for name := range texts {
		checks[name] = true
	}
	return checks, nil
}

// anyValue are those of the commands, which tests decide, that hold whatever these compare
// with: something else answers. What holds so on the base, too, never compared.
func (c *controlling) anyValue(ctx context.Context, f *Facts, commands []Command) ([]Command, error) {
	any, err := c.whatever(ctx, f, c.work.tree, commands)
	if err != nil || len(any) == 0 {
		return nil, err
	}
	on := slices.DeleteFunc(slices.Clone(any), func(cmd Command) bool { return !slices.Contains(c.before, cmd) })
	never, err := c.whatever(ctx, f, c.base, on)
	return without(any, never), err
}

// whatever are those of the commands that hold on a tree whose tests compare with other values.
func (c *controlling) whatever(ctx context.Context, f *Facts, tree string, commands []Command) (hold []Command, err error) {
	other, err := c.tests(ctx, tree, c.otherValues, tree)
	if err != nil || other == tree {
		return nil, err
	}
	job, err := c.judged.job(ctx, other)
	if err != nil {
		return nil, err
	}
	for _, r := range f.Replays[0] {
		if !slices.Contains(commands, r.Command) {
			continue
		}
		job.Line = r.Line
		o, err := c.claim.Watch(Step{Command: r.Command, Note: Broken}, func(live *Live) (Outcome, error) {
			job.Live = live
			return c.soon(ctx, job, r.Time)
		})
		if err != nil {
			return nil, err
		}
		if o.OK() {
			hold = append(hold, r.Command)
		}
	}
	return hold, nil
}

// otherValues has tests, and what checks by its exit code, compare with other values.
func (c *controlling) otherValues(name, text string) (string, bool) {
	if _, has := c.atEnd(name, text); !has {
		return "", false
	}
	return broken.OtherValues(name, text)
}

// withTests are the commands that hold on the base with the tests that are work: a test that
// fails without the work proves it.
func (c *controlling) withTests(ctx context.Context) ([]Command, error) {
	tests := maps.Clone(c.work.do)
	maps.DeleteFunc(tests, func(name, entry string) bool { return entry == "" || !sources.IsTest(name) })
	if len(tests) == 0 || len(c.before) == 0 {
		return c.before, nil
	}
	tree, err := writeTree(ctx, c.repo, c.claim.Base, indexInfo(tests))
	switch {
	case err != nil:
		return nil, err
	case tree == c.work.tree: // which holds: the tests are all there is of the work
		return c.before, nil
	}
	return c.holding(ctx, tree, c.before, before)
}

// onBase are those of the commands that the base's own tests decide there.
func (c *controlling) onBase(ctx context.Context, commands []Command) ([]Command, error) {
	runs, err := c.runBase(ctx)
	if err != nil {
		return nil, err
	}
	still := holding(runs)
	return slices.DeleteFunc(slices.Clone(commands), func(cmd Command) bool {
		return !slices.ContainsFunc(runs, func(r Run) bool { return r.Command == cmd }) || slices.Contains(still, cmd)
	}), nil
}

// runBase runs the commands that hold on the base there once more, with each test failing at
// its end; none where no test can be made to.
func (c *controlling) runBase(ctx context.Context) ([]Run, error) {
	if c.baseAtEnd != nil || len(c.before) == 0 {
		return c.baseAtEnd, nil
	}
	atEnd, err := c.tests(ctx, c.base, c.atEnd, c.base)
	if err != nil || atEnd == c.base && c.claim.Breaks == "" {
		return nil, err
	}
	c.baseAtEnd, err = c.broken(ctx, atEnd, c.before)
	return c.baseAtEnd, err
}

// broken runs commands on a tree whose tests fail at their end, and after the line that
// breaks what else there is. Where that line fails nothing is broken, and nothing runs.
func (c *controlling) broken(ctx context.Context, tree string, commands []Command) ([]Run, error) {
	how := Job{Keep: true}
	if c.claim.Breaks != "" {
		how.Line = "(\n" + c.claim.Breaks + "\n) >/dev/null 2>&1 || exit 0\n"
	}
	return c.each(ctx, c.runner, tree, commands, Step{Note: Broken}, how)
}

// lost are the tests that fail at their end on the base, and do not with the work, by what
// their runner prints: they are gone, or are skipped, or end before. A command of which none
// fails says so itself.
func (c *controlling) lost(ctx context.Context, runs []Run) (names []string, err error) {
	base, err := c.runBase(ctx)
	for _, before := range base {
		for _, now := range runs {
			if before.Command != now.Command || now.OK() || now.Held {
				continue
			}
			names = append(names, broken.Lost(broken.Failed(before.Said), broken.Failed(now.Said))...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// byName are those that tests decide which have nothing but a name: on the base, which may
// lack what they test.
func (c *controlling) byName(ctx context.Context, commands []Command) ([]Command, error) {
	var trees [2]string
	for i, fail := range []bool{false, true} {
		only := func(name, text string) (string, bool) {
			if c.checks[name] {
				return broken.CheckOnly(name, text, fail), true
			}
			return broken.Only(name, text, fail)
		}
		tree, err := c.tests(ctx, c.base, only, c.base, c.work.tree)
		if err != nil {
			return nil, err
		}
		trees[i] = tree
	}
	if trees[0] == trees[1] {
		return nil, nil
	}
	passes, err := c.holding(ctx, trees[0], commands, Broken)
	if err != nil || len(passes) == 0 {
		return nil, err
	}
	fails, err := c.holding(ctx, trees[1], passes, Broken)
	return without(passes, fails), err
}

// withoutBodies are those that come to a test when the work's functions do nothing: a
// command may bring a test of its own, which needs them to be there.
func (c *controlling) withoutBodies(ctx context.Context, commands []Command) (come []Command, err error) {
	hollow, err := c.rewrite(ctx, c.work.tree, c.work.do, broken.Hollow)
	if err != nil || hollow == c.work.tree {
		return nil, err
	}
	word := rand.Text()
	begun := func(name, text string) (string, bool) { return broken.Begun(name, text, word) }
	tree, err := c.tests(ctx, hollow, begun, c.work.tree)
	if err != nil || tree == hollow {
		return nil, err
	}
	runs, err := c.each(ctx, c.runner, tree, commands, Step{Note: Broken}, Job{})
	for _, r := range runs {
		if !r.OK() && strings.Contains(r.Tail, word) {
			come = append(come, r.Command)
		}
	}
	return come, err
}

// holding are those of the commands that hold on a tree, which is there for a control.
func (c *controlling) holding(ctx context.Context, tree string, commands []Command, note string) (held []Command, err error) {
	runs, err := c.each(ctx, c.runner, tree, commands, Step{Note: note}, Job{})
	return holding(runs), err
}

// holding are the commands of runs that were met.
func holding(runs []Run) (held []Command) {
	for _, r := range runs {
		if r.OK() {
			held = append(held, r.Command)
		}
	}
	return held
}

func without(all, some []Command) []Command {
	return slices.DeleteFunc(slices.Clone(all), func(c Command) bool { return slices.Contains(some, c) })
}

// tests is a tree with the files of trees in which there are tests, written anew; of two
// files of one name it is the later tree's.
func (c *controlling) tests(ctx context.Context, onto string, how func(name, text string) (string, bool), of ...string) (string, error) {
	all := map[string]string{}
	for _, tree := range of {
		list, err := listTree(ctx, c.repo, tree, c.claim.Bounds)
		if err != nil {
			return "", err
		}
		maps.Copy(all, list)
	}
	maps.DeleteFunc(all, func(name, entry string) bool { return !broken.MayTest(name) && !c.checks[name] })
	return c.rewrite(ctx, onto, all, how)
}

// rewrite is a tree with files, "mode id" by path, written anew; the same tree where how
// changes none.
func (c *controlling) rewrite(ctx context.Context, onto string, files sources.Tree, how func(name, text string) (string, bool)) (string, error) {
	dir, err := scratch.Make("", "control-")
	if err != nil {
		return "", err
	}
	defer dir.Remove()
	batch := c.repo.Batch(ctx)
	defer batch.Close()
	var names, paths []string
	for name, entry := range files {
		_, id, _ := strings.Cut(entry, " ")
		if entry == "" || !plain(entry) {
			continue
		}
		_, data, err := batch.Read(id, maxText)
		var large *git.TooLarge
		if errors.As(err, &large) {
			continue // nobody wrote that
		}
		if err != nil {
			return "", err
		}
		changed, ok := how(name, string(data))
		if !ok {
			continue
		}
		file := filepath.Join(dir.Path, strconv.Itoa(len(paths)))
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			return "", err
		}
		names, paths = append(names, name), append(paths, file)
	}
	if len(paths) == 0 {
		return onto, nil
	}
	out, err := c.repo.OutputFrom(ctx, []byte(strings.Join(paths, "\n")+"\n"), "hash-object", "-w", "--no-filters", "--stdin-paths")
	ids := strings.Fields(string(out))
	if err != nil || len(ids) != len(names) {
		return "", fmt.Errorf("%d of %d changed files were written: %w", len(ids), len(names), err)
	}
	changes := map[string]string{}
	for i, name := range names {
		mode, _, _ := strings.Cut(files[name], " ")
		changes[name] = mode + " " + ids[i]
	}
	return writeTree(ctx, c.repo, onto, indexInfo(changes))
}
