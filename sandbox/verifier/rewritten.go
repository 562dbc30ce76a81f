package verifier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/internal/sources"
	"git-ward/sandbox/verifier/broken"
)

// rewriter changes a file's text. ok is false if the file stays as it is.
type rewriter func(name, text string) (changed string, ok bool)

// id numbers a test by its file and its name there; a checking program has the name "".
func (c *controlling) id(file, test string) int {
	name := file
	if test != "" {
		name += ": " + test
	}
	id, ok := c.ids[name]
	if !ok {
		id = len(c.names)
		c.ids[name], c.names = id, append(c.names, name)
	}
	return id
}

// change says how a file's tests are changed, by their numbers.
func (c *controlling) change(file string, pick func(id int) broken.How) broken.Change {
	return broken.Change{Word: c.word, Of: func(test string) (int, broken.How) {
		id := c.id(file, test)
		return id, pick(id)
	}}
}

// changing changes tests and checking programs.
func (c *controlling) changing(pick func(id int) broken.How) rewriter {
	return func(name, text string) (string, bool) {
		change := c.change(name, pick)
		if !c.checks[name] {
			return broken.AtEnd(name, text, change)
		}
		switch _, how := change.Of(""); how {
		case broken.End, broken.Tell:
			return broken.CheckAtEnd(name, text, change, func(string) bool { return true })
		case broken.Pass:
			return broken.CheckOnly(name, text, change), true
		}
		return "", false
	}
}

// telling breaks no test; each reports.
func (c *controlling) telling(name, text string) (string, bool) {
	return c.changing(some(nil, broken.Tell))(name, text)
}

// alone reduces tests to their names.
func (c *controlling) alone(pick func(id int) broken.How) rewriter {
	return func(name, text string) (string, bool) {
		if change := c.change(name, pick); !c.checks[name] {
			return broken.Only(name, text, change)
		} else {
			return broken.CheckOnly(name, text, change), true
		}
	}
}

// withoutWork changes tests of code that does nothing. Where such code cannot be made, the tests are
// reduced to their names. It leaves a file alone that may skip tests: a skipped test would seem to run.
func (c *controlling) withoutWork(pick func(id int) broken.How) rewriter {
	changing, alone := c.changing(pick), c.alone(pick)
	return func(name, text string) (string, bool) {
		switch {
		case !c.checks[name] && broken.CanHollow(name):
			return changing(name, text)
		case !c.checks[name] && broken.MaySkip(text):
			return "", false
		}
		return alone(name, text)
	}
}

// all breaks each test, and adds it to a set.
func all(tests map[int]bool) func(int) broken.How {
	return func(id int) broken.How {
		tests[id] = true
		return broken.End
	}
}

// some breaks some of the tests. rest is for the others.
func some(tests map[int]bool, rest broken.How) func(int) broken.How {
	return func(id int) broken.How {
		if tests[id] {
			return broken.End
		}
		return rest
	}
}

// says reports whether a text has more than blank lines and comments.
func says(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true
		}
	}
	return false
}

// findChecks finds the checking programs of the judged tree: those among its tests, and those that a
// command names that names no test. It leaves out a program that includes a file which may end it in an
// unknown way, and a file of comments and blank lines only, such as an empty __init__.py among Python's
// tests.
func (c *controlling) findChecks(ctx context.Context) (map[string]bool, error) {
	tree, err := c.list(ctx, c.work.tree)
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
		if !ok || broken.Has(name, text) || !says(text) {
			continue
		}
		texts[name], known[path.Base(name)] = text, true
		tests = tests || isTest && isNamed
	}
	maps.DeleteFunc(texts, func(name, _ string) bool { return tests && !sources.IsTest(name) })
	for before := -1; before != len(texts); { // each that goes may be known to another
		before = len(texts)
		maps.DeleteFunc(texts, func(name, text string) bool {
			_, sure := broken.CheckAtEnd(name, text, c.change(name, some(nil, broken.Keep)), func(base string) bool { return known[base] })
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

// hollowed returns the work's tree with functions that do nothing and with changed tests; "" where such
// functions cannot be made.
func (c *controlling) hollowed(ctx context.Context, how rewriter) (string, error) {
	code := maps.Clone(c.work.do)
	maps.DeleteFunc(code, func(name, _ string) bool { return sources.IsTest(name) })
	hollow, err := c.rewrite(ctx, c.work.tree, code, broken.Hollow)
	if err != nil {
		return "", err
	}
	tree, err := c.tests(ctx, hollow, how, c.work.tree)
	if tree == hollow {
		tree = ""
	}
	return tree, err
}

// tests returns a tree with the changed test files of other trees; of two files of one name, the later
// tree's.
func (c *controlling) tests(ctx context.Context, onto string, how rewriter, of ...string) (string, error) {
	all := map[string]string{}
	for _, tree := range of {
		list, err := c.list(ctx, tree)
		if err != nil {
			return "", err
		}
		maps.Copy(all, list)
	}
	maps.DeleteFunc(all, func(name, entry string) bool { return !broken.MayTest(name) && !c.checks[name] })
	return c.rewrite(ctx, onto, all, how)
}

// rewrite returns a tree with changed files, given as "mode id" by path; the same tree if how changes
// none.
func (c *controlling) rewrite(ctx context.Context, onto string, files sources.Tree, how rewriter) (string, error) {
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
		if _, ok := errors.AsType[*git.TooLarge](err); ok {
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
	return writeTree(ctx, c.repo, onto, changes)
}
