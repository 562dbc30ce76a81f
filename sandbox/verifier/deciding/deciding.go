// Package deciding finds the files that decide on a claim: the programs that the
// claim's command lines run on main, what the text of these sources, includes,
// imports and calls, what main's tests read, and what tools find by its place alone.
// It runs nothing: it reads main's texts, as far as text shows it, and takes what is
// beyond its bounds for whatever that might be.
package deciding

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"path"
	"strings"

	"git-ward/protocols/state"
)

// Tree is a commit's files, links and submodules: "mode id" by path.
type Tree map[string]string

// Blobs reads a blob by its id. One of more than limit bytes is an error that is
// state.Oversize.
type Blobs func(id string, limit int64) ([]byte, error)

// Read reads what lines for the shell run on base, the tree of main's that a claim is
// held against; have is the claimed tree, whose texts have no say. Paths for which
// pinned says so are always as on base.
func Read(base, have Tree, blobs Blobs, lines []string, pinned func(path string) bool) (*Reading, error) {
	links, err := readLinks(blobs, base)
	if err != nil {
		return nil, err
	}
	r := newReading(base, have, links, blobs)
	r.pinned = pinned
	isProgram := func(path string) bool { return r.onBase(path) && executable(blobs, base[links.end(path)]) }
	for _, line := range lines {
		maps.Copy(r.named, programs(line, isProgram, r.onBase))
	}
	for name := range maps.Clone(r.named) {
		links.follow(name, r.named)
	}
	for _, line := range lines {
		r.criterion(line)
	}
	r.readTests()
	r.findLostTests()
	return r, r.err
}

// Pinned reports whether a path is always as on base: a command line names it as a
// program, or the caller of Read pinned it.
func (r *Reading) Pinned(name string) bool { return r.named[name] || r.pinned(name) }

// Role is what a path, which the claimed tree has otherwise than base, is to the
// commands.
type Role struct {
	Decides bool
	// Stays: it stays in every run all the same, because main's words ask for it.
	Stays bool
	// Asked: a command line names it, and not because it runs it or would take it for
	// made: it is asked for in so many words.
	Asked bool
}

// Role is the role of a path that is in one of the trees.
func (r *Reading) Role(name string) Role {
	mode, _, _ := strings.Cut(cmp.Or(r.have[name], r.base[name]), " ")
	decides, stays := r.decides(name, mode)
	asked := r.mentioned[name] && !r.isMade(name) && !r.pathDirs[path.Dir(name)]
	return Role{decides, stays || asked && !r.runs[name], asked}
}

// SameCommands reports whether a manifest that both trees have differs only in what
// does not decide: what it says of itself, and which versions it wants.
func (r *Reading) SameCommands(name string) (bool, error) {
	if !isKind(name) || r.runs[name] {
		return false, nil
	}
	var texts [2][]byte
	for i, entry := range []string{r.base[name], r.have[name]} {
		mode, id, _ := strings.Cut(entry, " ")
		if mode == "120000" || mode == "160000" {
			return false, nil
		}
		data, err := r.blobs(id, MaxText)
		var large state.Oversize
		if errors.As(err, &large) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		texts[i] = data
	}
	return sameCommands(name, texts[0], texts[1]), nil
}

// executable tells whether an entry, "mode id", is a program: by its mode, or by
// its first two bytes.
func executable(blobs Blobs, entry string) bool {
	mode, id, _ := strings.Cut(entry, " ")
	if mode == "160000" {
		return false
	}
	if mode == "100755" {
		return true
	}
	data, err := blobs(id, 1<<20)
	return err == nil && bytes.HasPrefix(data, []byte("#!"))
}

// words are the parts of a command line that could name a file, without what the
// shell puts around them. Too many do no harm: only paths of main's count.
func words(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n\"'`;|&<>()=$,{}", r) })
}
