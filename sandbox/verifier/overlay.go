package verifier

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"git-ward/internal/git"
	"git-ward/internal/sources"
)

// Deviation is a frozen path, or an attributes file, in which the claimed commit differs from main. It is
// reverted before anything runs.
type Deviation struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // changed, deleted or added
}

// attributes matches the files by which a commit could make git change others at checkout: encodings,
// line ends, filters.
const attributes = "**/.gitattributes"

// Entry is a tree's entry at a path.
type Entry struct {
	Path string `json:"path"`
	Mode string `json:"mode"` // as git has it, 000000 for nothing
	Blob string `json:"blob"` // id, all zeros for nothing
}

// NoMode is the mode of a missing entry.
const NoMode = "000000"

// Left is a path in which the claimed commit differs from main and that is not work. The run that
// decides has main's (PROOF-1).
type Left struct {
	Entry
	Kind string `json:"kind"` // added, changed or deleted
}

// overlaid has the trees and differences of a claim, before anything runs.
type overlaid struct {
	tree   string       // what decides is judged on: main's, with the work
	with   string       // all of the claim; tree, where nothing was left out
	others []string     // the files of tree that are not work
	main   sources.Tree // what is there without the work
	differences
}

// overlay makes the judged trees: main with the work, which decides, and the whole claim. Both have
// main's version of frozen paths.
func (t *trying) overlay(ctx context.Context) (o overlaid, err error) {
	c, batch := t.claim, t.repo.Batch(ctx)
	defer batch.Close()
	base, err := t.listOf(ctx, batch, c.Base)
	if err != nil {
		return o, err
	}
	have, err := t.listOf(ctx, batch, c.Commit)
	if err != nil {
		return o, err
	}
	fork := base
	if began, err := Base(ctx, t.repo, c.Main, c.Commit); err != nil {
		return o, err
	} else if began != c.Main && began != c.Base {
		if fork, err = t.listOf(ctx, batch, began); err != nil {
			return o, err
		}
	}
	o.differences, err = compare(c, base, fork, have, func(id string, limit int64) (string, bool) {
		_, data, err := batch.Read(id, limit)
		return string(data), err == nil
	})
	if err != nil {
		return o, err
	}
	o.main = base
	for name, entry := range base {
		if _, work := o.do[name]; !work && !strings.HasPrefix(entry, "160000 ") { // a submodule is no file
			o.others = append(o.others, name)
		}
	}
	slices.Sort(o.others)
	if o.tree, err = editTree(batch, c.Base, o.do); err == nil {
		o.with, err = editTree(batch, c.Commit, o.undo)
	}
	return o, err
}

// differences says where a claimed tree differs from main's.
type differences struct {
	deviations []Deviation
	left       []Left
	included   []string // by a word of the PM's, which names path and blob
	code       bool     // the work can run: in its tests' process, for all that anybody knows
	// do has the entries that replace main's, undo those that replace the claim's: "mode id", "" for a
	// removed path.
	do, undo map[string]string
	// leads are paths of the work that may lead a command past its checks. settings are those of them
	// that no manifest declares as sources. checks are main's remaining files that are not sources.
	leads, settings, checks []string
	shows                   bool // one of leads is there, or is not, by its name alone
}

// compare finds where a claim differs from main at its fork, and which of those paths are work on base,
// the tree of main's that it is judged on.
func compare(c *Claim, base, fork, have sources.Tree, read sources.Blobs) (d differences, err error) {
	frozen := slices.Concat(c.Frozen, []string{attributes})
	for _, g := range slices.Concat(frozen, c.Pinned, c.Work) {
		if !doublestar.ValidatePattern(g) {
			return d, fmt.Errorf("%q is not a pattern of paths", g)
		}
	}
	w := newWork(c, base, read)
	d.do, d.undo = map[string]string{}, map[string]string{}
	var work []string
	for _, name := range slices.Sorted(maps.Keys(union(union(base, fork), have))) {
		before, now := base[name], have[name]
		switch {
		case before == now:
		case matches(frozen, name):
			d.undo[name] = before
			if now != fork[name] {
				d.deviations = append(d.deviations, Deviation{name, kindOf(before, now)})
			}
		case now == fork[name]: // main went on
		case w.is(name, before, now), included(c, name, now):
			work = append(work, name)
		default:
			d.add(name, before, now)
		}
	}
	d.take(c, base, have, work)
	d.lead(w, base)
	return d, nil
}

// take records the work, except paths that conflict with main's remaining files: a file where main has a
// directory, or a directory where main has a file.
func (d *differences) take(c *Claim, base, have sources.Tree, work []string) {
	stays, above := maps.Clone(base), map[string]bool{}
	for _, name := range work {
		delete(stays, name)
	}
	for name := range stays {
		for dir := path.Dir(name); dir != "." && !above[dir]; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	for _, name := range work {
		before, now := base[name], have[name]
		inTheWay := now != "" && above[name]
		for dir := path.Dir(name); now != "" && dir != "."; dir = path.Dir(dir) {
			inTheWay = inTheWay || stays[dir] != ""
		}
		if inTheWay {
			d.add(name, before, now)
			continue
		}
		d.do[name] = now
		if included(c, name, now) || sources.IsTest(name) { // by its very path, or it were no work
			d.included = append(d.included, name)
		}
		d.code = d.code || now != "" && (sources.IsProgram(name) || strings.HasPrefix(now, "100755 "))
	}
	slices.SortFunc(d.left, func(a, b Left) int { return strings.Compare(a.Path, b.Path) })
}

// present lists the files of the work.
func (d *differences) present() (files []string) {
	for name, now := range d.do {
		if now != "" {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files
}

// presentLeft lists the paths left out that are files.
func (d *differences) presentLeft() (files []string) {
	for _, l := range d.left {
		if l.Kind != deleted && plain(l.Mode) {
			files = append(files, l.Path)
		}
	}
	return files
}

func (d *differences) add(name, before, now string) {
	d.left = append(d.left, Left{entryOf(name, now), kindOf(before, now)})
}

func entryOf(name, entry string) Entry {
	mode, id, ok := strings.Cut(entry, " ")
	if !ok {
		return Entry{name, NoMode, git.Zero}
	}
	return Entry{name, mode, id}
}

// included reports whether the PM included a path with the blob that the claim has there.
func included(c *Claim, name, now string) bool {
	return slices.Contains(c.Included, entryOf(name, now))
}

// work decides which paths are work.
type work struct {
	claim   *Claim
	project *sources.Project
	named   *sources.Named
	read    sources.Blobs
}

// maxText bounds a source that is read, in bytes.
const maxText = 4 << 20

func newWork(c *Claim, base sources.Tree, read sources.Blobs) *work {
	var lines []string
	for _, command := range c.Commands {
		if !command.Own {
			lines = append(lines, command.Line)
		}
	}
	project := sources.Read(base, read)
	return &work{c, project, project.Named(lines), read}
}

// is reports whether a path that differs is work: declared by the PM, or a source of the project. Unless
// the PM names the very path, a test is not work, nor is a path that a command names, nor an undeclared
// source with tests inside.
func (w *work) is(name, before, now string) bool {
	switch {
	case !plain(before) || !plain(now) || matches(w.claim.Pinned, name):
		return false
	case slices.Contains(w.claim.Work, name):
		return true
	case sources.IsTest(name):
		return false
	case len(w.claim.Work) > 0:
		return matches(w.claim.Work, name) && !w.named.Has(name)
	}
	return w.source(name) && !w.hasTests(name, before) && !w.hasTests(name, now)
}

// source reports whether the project's manifests declare a path as a source, and no command names it.
func (w *work) source(name string) bool {
	return !sources.IsTest(name) && w.project.IsWork(name) && !w.named.Has(name)
}

// hasTests reports whether a file may have tests inside; true if it cannot be read.
func (w *work) hasTests(name, entry string) bool {
	_, id, ok := strings.Cut(entry, " ")
	if !ok {
		return false
	}
	text, ok := w.read(id, maxText)
	return !ok || sources.HasTests(name, text)
}

// plain reports whether an entry is a regular file, or missing: somebody else may change what a link or
// a submodule refers to.
func plain(entry string) bool { return entry == "" || strings.HasPrefix(entry, "100") }

// The ways in which a path of the claimed tree differs from main's.
const (
	changed = "changed"
	deleted = "deleted"
	added   = "added"
)

// kindOf compares two entries, "" for none.
func kindOf(before, now string) string {
	switch {
	case before == "":
		return added
	case now == "":
		return deleted
	}
	return changed
}

func union(a, b sources.Tree) sources.Tree {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// writeTree writes the commit's tree with changes: "mode id", "" for a removed path.
func writeTree(ctx context.Context, repo *git.Repo, commit string, changes map[string]string) (string, error) {
	batch := repo.Batch(ctx)
	defer batch.Close()
	return editTree(batch, commit, changes)
}

func editTree(batch *git.Batch, commit string, changes map[string]string) (string, error) {
	if len(changes) == 0 {
		o, err := batch.Info(commit + "^{tree}")
		return o.ID, err
	}
	entries := map[string]git.Entry{}
	for name, entry := range changes {
		entries[name] = git.Entry{}
		if mode, id, ok := strings.Cut(entry, " "); ok {
			octal, err := strconv.ParseUint(mode, 8, 32)
			if err != nil {
				return "", err
			}
			e := git.Entry{Mode: git.Mode(octal), ID: id}
			if strings.HasPrefix(mode, "100") && !e.IsRegular() { // of old: git writes no such mode any more
				e.Mode = git.ModeFile
				if octal&0o100 != 0 {
					e.Mode = git.ModeExec
				}
			}
			entries[name] = e
		}
	}
	return batch.PutEntries(commit+"^{tree}", entries)
}

// matches reports whether a path, or a directory above it, matches a pattern.
func matches(globs []string, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		for _, g := range globs {
			if ok, _ := doublestar.Match(strings.TrimSuffix(g, "/"), name); ok {
				return true
			}
		}
	}
	return false
}
