package verifier

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"git-ward/internal/git"
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
	main, err := c.decides(batch, want)
	if err != nil {
		return o, err
	}
	r := newReading(want, have, main.links, batch)
	for _, command := range c.Commands {
		if !command.Own {
			r.criterion(command.Line)
		}
	}
	r.tests(main.pinned)
	r.tested()
	if r.err != nil {
		return o, r.err
	}
	undo, leave := map[string]string{}, map[string]string{} // path to "mode id"; "" for none
	for _, name := range slices.Sorted(maps.Keys(union(want, have))) {
		before, now := want[name], have[name]
		if before == now {
			continue
		}
		kind := map[[2]bool]string{{true, true}: "changed", {true, false}: "deleted", {false, true}: "added"}[[2]bool{before != "", now != ""}]
		if before != "" && main.pinned(name) || before == "" && (matches(c.Frozen, name) || matches([]string{attributes}, name)) {
			o.deviations = append(o.deviations, Deviation{name, kind})
			undo[name] = before
			continue
		}
		mode, _, _ := strings.Cut(cmp.Or(now, before), " ")
		counts, keep := r.decides(name, mode)
		if before == "" && !counts && matches(c.Pinned, name) {
			counts = true
		}
		// What a criterion names and main lacks is asked for in so many words. What
		// main has stays in the run, for that word's sake, and is none the less told.
		asked := r.words[name] && !r.made(name) && !r.paths[path.Dir(name)]
		keep = keep || asked && !r.runs[name]
		switch {
		case !counts:
		case kind == "changed" && r.sameCommands(name):
		case matches(c.Accepted, name), asked && before == "":
			o.accepted = append(o.accepted, name)
		default:
			o.additions = append(o.additions, Addition{name, kind, keep})
			if !keep {
				leave[name] = before
			}
		}
	}
	if r.err != nil {
		return o, r.err
	}
	if o.with, err = writeTree(ctx, repo, c.Commit, indexInfo(undo)); err != nil {
		return o, err
	}
	if o.tree = o.with; len(leave) > 0 {
		maps.Copy(leave, undo)
		o.tree, err = writeTree(ctx, repo, c.Commit, indexInfo(leave))
	}
	return o, err
}

// sameCommands is sameCommands for a manifest of the claimed commit's beside main's.
func (r *reading) sameCommands(name string) bool {
	if !isKind(name) || r.runs[name] {
		return false
	}
	var texts [2][]byte
	for i, entry := range []string{r.base[name], r.have[name]} {
		mode, id, _ := strings.Cut(entry, " ")
		if mode == "120000" || mode == "160000" {
			return false
		}
		_, data, err := r.batch.Read(id, maxText)
		var large *git.TooLarge
		if errors.As(err, &large) {
			return false
		}
		if err != nil {
			r.err = err
			return false
		}
		texts[i] = data
	}
	return sameCommands(name, texts[0], texts[1])
}

func union(a, b tree) tree {
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
	dir, err := os.MkdirTemp("", "ward-verify-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	repo = repo.WithIndex(filepath.Join(dir, "index"))
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

// mains is what of main's tree is put back always.
type mains struct {
	links links
	named map[string]bool
	globs []string
}

func (m *mains) pinned(path string) bool { return m.named[path] || matches(m.globs, path) }

// decides finds what is put back: the programs that the commands name, and what the
// patterns match.
func (c *Claim) decides(batch *git.Batch, main tree) (*mains, error) {
	// What git does to files when it checks them out decides, too.
	globs := slices.Concat(c.Frozen, c.Pinned, []string{attributes})
	for _, g := range slices.Concat(globs, c.Accepted) {
		if !doublestar.ValidatePattern(g) {
			return nil, fmt.Errorf("%q is not a pattern of paths", g)
		}
	}
	links, err := readLinks(batch, main)
	if err != nil {
		return nil, err
	}
	onMain := func(path string) bool { return main[links.end(path)] != "" }
	isProgram := func(path string) bool { return onMain(path) && executable(batch, main[links.end(path)]) }
	named := map[string]bool{}
	for _, command := range c.Commands {
		if !command.Own {
			maps.Copy(named, programs(command.Line, isProgram, onMain))
		}
	}
	for path := range maps.Clone(named) {
		links.follow(path, named)
	}
	return &mains{links, named, globs}, nil
}

// executable tells whether an entry, "mode id", is a program: by its mode, or by
// its first two bytes.
func executable(batch *git.Batch, entry string) bool {
	mode, id, _ := strings.Cut(entry, " ")
	if mode == "160000" {
		return false
	}
	if mode == "100755" {
		return true
	}
	_, data, err := batch.Read(id, 1<<20)
	return err == nil && bytes.HasPrefix(data, []byte("#!"))
}

// words are the parts of a command line that could name a file, without what the
// shell puts around them. Too many do no harm: only paths of main's count.
func words(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&<>()=$,{}", r) })
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
