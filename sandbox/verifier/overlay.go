package verifier

import (
	"bytes"
	"context"
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

// overlay makes the tree that is judged: the claimed commit's, in which every
// path that decides is as main has it. What decides are the files that a command
// runs, what the directive froze, and what [verify] pins, tests above all.
func overlay(ctx context.Context, repo *git.Repo, c *Claim) (tree string, found []Deviation, err error) {
	want, err := listTree(ctx, repo, c.Main)
	if err != nil {
		return "", nil, err
	}
	have, err := listTree(ctx, repo, c.Commit)
	if err != nil {
		return "", nil, err
	}
	decides, err := c.decides(ctx, repo, want)
	if err != nil {
		return "", nil, err
	}
	var info bytes.Buffer
	remove := func(path, kind string) {
		found = append(found, Deviation{path, kind})
		fmt.Fprintf(&info, "0 %s\t%s\x00", git.Zero, path)
	}
	for path := range have {
		if _, there := want[path]; !there && (matches(c.Frozen, path) || matches([]string{attributes}, path)) {
			remove(path, "added")
		}
	}
	for path, entry := range want {
		if now, there := have[path]; now == entry || !decides(path) {
			continue
		} else if there {
			found = append(found, Deviation{path, "changed"})
		} else {
			found = append(found, Deviation{path, "deleted"})
		}
		fmt.Fprintf(&info, "%s\t%s\x00", entry, path)
	}
	slices.SortFunc(found, func(a, b Deviation) int { return strings.Compare(a.Path, b.Path) })
	tree, err = writeTree(ctx, repo, c.Commit, info.Bytes())
	return tree, found, err
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

// listTree is "mode id" by path, of files and links.
func listTree(ctx context.Context, repo *git.Repo, commit string) (map[string]string, error) {
	out, err := repo.Output(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		meta, path, _ := strings.Cut(entry, "\t")
		if fields := strings.Fields(meta); len(fields) == 3 {
			all[path] = fields[0] + " " + fields[2]
		}
	}
	return all, nil
}

// decides returns what tells whether a path of main's is put back.
func (c *Claim) decides(ctx context.Context, repo *git.Repo, main map[string]string) (func(path string) bool, error) {
	// What git does to files when it checks them out decides, too.
	globs := slices.Concat(c.Frozen, c.Pinned, []string{attributes})
	for _, g := range globs {
		if !doublestar.ValidatePattern(g) {
			return nil, fmt.Errorf("%q is not a pattern of paths", g)
		}
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
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
	return func(path string) bool { return named[path] || matches(globs, path) }, nil
}

// executable tells whether an entry, "mode id", is a program: by its mode, or by
// its first two bytes.
func executable(batch *git.Batch, entry string) bool {
	mode, id, _ := strings.Cut(entry, " ")
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
