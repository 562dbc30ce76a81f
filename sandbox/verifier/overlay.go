package verifier

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/sandbox/verifier/deciding"
)

// Deviation is a path that decides and that the claimed commit has otherwise than
// main. It is undone before anything runs.
type Deviation struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // changed, deleted, or added (frozen paths and .gitattributes only)
}

// attributes are the files by which a commit could have git change others on their
// way out: another encoding, other line ends, a filter.
const attributes = "**/.gitattributes"

// Addition is a path that the claimed commit adds, or has otherwise than main, where
// something that decides would find it (LOOP-10). The commands run without it, and
// that decides; Kept ones are asked for by the directive's own words and stay.
type Addition struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // added, changed or deleted
	Kept bool   `json:"kept,omitzero"`
}

// overlaid is what a claim comes to before anything runs.
type overlaid struct {
	tree       string // what decides is judged on: the claimed tree, what decides as main has it, without additions
	with       string // the same with the additions; tree, where there are none to leave out
	deviations []Deviation
	additions  []Addition
	accepted   []string // additions that the directive accepts, or that a criterion names: ordinary work
}

// overlay makes the trees that are judged. What decides are the files that a command
// runs, what the directive froze, and what [verify] pins, tests above all: these are
// as the base has them, always. What else decides by where it is, or because main's
// own words run it, is left out, or as the base has it, in the first of two trees.
func overlay(ctx context.Context, repo *git.Repo, c *Claim) (o overlaid, err error) {
	want, err := listTree(ctx, repo, c.Base, c.Bounds)
	if err != nil {
		return o, err
	}
	have, err := listTree(ctx, repo, c.Commit, c.Bounds)
	if err != nil {
		return o, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	d, err := compare(c, want, have, func(id string, limit int64) ([]byte, error) {
		_, data, err := batch.Read(id, limit)
		return data, err
	})
	if err != nil {
		return o, err
	}
	o = overlaid{deviations: d.deviations, additions: d.additions, accepted: d.accepted}
	if o.with, err = writeTree(ctx, repo, c.Commit, indexInfo(d.undo)); err != nil {
		return o, err
	}
	if o.tree = o.with; len(d.leave) > 0 {
		maps.Copy(d.leave, d.undo)
		o.tree, err = writeTree(ctx, repo, c.Commit, indexInfo(d.leave))
	}
	return o, err
}

// differences are what a claimed tree has otherwise than main's and that decides.
type differences struct {
	deviations []Deviation
	additions  []Addition
	accepted   []string
	// undo and leave are what to put in the place of paths, "mode id", "" for none:
	// in both trees, and in the one without additions.
	undo, leave map[string]string
}

// compare finds the differences between two trees, by what the claim's commands run.
func compare(c *Claim, want, have deciding.Tree, blobs deciding.Blobs) (d differences, err error) {
	// What git does to files when it checks them out decides, too.
	pinned := slices.Concat(c.Frozen, c.Pinned, []string{attributes})
	for _, g := range slices.Concat(pinned, c.Accepted) {
		if !doublestar.ValidatePattern(g) {
			return d, fmt.Errorf("%q is not a pattern of paths", g)
		}
	}
	var lines []string
	for _, command := range c.Commands {
		if !command.Own {
			lines = append(lines, command.Line)
		}
	}
	r, err := deciding.Read(want, have, blobs, lines, func(path string) bool { return matches(pinned, path) })
	if err != nil {
		return d, err
	}
	d.undo, d.leave = map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(union(want, have))) {
		before, now := want[name], have[name]
		if before == now {
			continue
		}
		kind := kindOf(before, now)
		if before != "" && r.Pinned(name) || before == "" && (matches(c.Frozen, name) || matches([]string{attributes}, name)) {
			d.deviations = append(d.deviations, Deviation{name, kind})
			d.undo[name] = before
			continue
		}
		if err := d.addition(c, r, Addition{Path: name, Kind: kind}, before); err != nil {
			return d, err
		}
	}
	return d, nil
}

// addition adds a path that differs, as an addition or as one that is accepted, if it
// decides. What a criterion names and main lacks is asked for in so many words; what
// main has stays in the run, for that word's sake, and is none the less told.
func (d *differences) addition(c *Claim, r *deciding.Reading, a Addition, before string) error {
	role := r.Role(a.Path)
	if !role.Decides && !(before == "" && matches(c.Pinned, a.Path)) {
		return nil
	}
	if a.Kind == changed {
		if same, err := r.SameCommands(a.Path); same || err != nil {
			return err
		}
	}
	if matches(c.Accepted, a.Path) || role.Asked && before == "" {
		d.accepted = append(d.accepted, a.Path)
		return nil
	}
	a.Kept = role.Stays
	d.additions = append(d.additions, a)
	if !a.Kept {
		d.leave[a.Path] = before
	}
	return nil
}

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

func union(a, b deciding.Tree) deciding.Tree {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// indexInfo is changes in the form of `git update-index -z --index-info`: what goes
// first, so that what comes finds its place.
func indexInfo(changes map[string]string) []byte {
	var info bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if changes[name] == "" {
			fmt.Fprintf(&info, "0 %s\t%s\x00", git.Zero, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if changes[name] != "" {
			fmt.Fprintf(&info, "%s\t%s\x00", changes[name], name)
		}
	}
	return info.Bytes()
}

// writeTree is the commit's tree with changes in the form of `git update-index
// --index-info`, by way of an index of its own.
func writeTree(ctx context.Context, repo *git.Repo, commit string, changes []byte) (string, error) {
	dir, err := scratch.Make("", "verify-")
	if err != nil {
		return "", err
	}
	defer dir.Remove()
	repo = repo.WithIndex(filepath.Join(dir.Path, "index"))
	if _, err := repo.Output(ctx, "read-tree", commit); err != nil {
		return "", err
	}
	// --replace: a file of main's takes the place of a directory, and the
	// other way round.
	if _, err := repo.OutputFrom(ctx, changes, "update-index", "-z", "--replace", "--index-info"); err != nil {
		return "", err
	}
	out, err := repo.Output(ctx, "write-tree")
	return strings.TrimSpace(string(out)), err
}

// matches tells whether a path, or a directory that it is in, matches a pattern.
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
