package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Kind is a format in which a tree names its dependencies.
type Kind string

// The kinds, as [verify] cache has them.
const (
	Go  Kind = "go"
	Npm Kind = "npm"
	Pip Kind = "pip"
)

// maxLocks bounds the directories with a lockfile that an entry is filled from.
const maxLocks = 20

// lockNames are the files that say which dependencies there are, exactly.
var lockNames = map[string]Kind{
	"go.mod": Go, "go.sum": Go, "go.work": Go, "go.work.sum": Go,
	"package-lock.json": Npm, "npm-shrinkwrap.json": Npm, "package.json": Npm,
	"requirements.txt": Pip, "requirements-dev.txt": Pip, "requirements-test.txt": Pip,
}

// Locks are a tree's lockfiles, by path, with the ids of their blobs.
type Locks map[string]string

// LocksOf picks the lockfiles of some kinds out of a tree, "mode id" by path. Those in
// dependencies that a tree brings along are not its own.
func LocksOf(tree map[string]string, kinds []string) Locks {
	l := Locks{}
	for name, entry := range tree {
		mode, id, _ := strings.Cut(entry, " ")
		kind := lockNames[path.Base(name)]
		if kind != "" && slices.Contains(kinds, string(kind)) && strings.HasPrefix(mode, "100") && !ignored(name) {
			l[name] = id
		}
	}
	return l
}

func ignored(name string) bool {
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		if dir == "node_modules" || dir == "vendor" || dir == "testdata" || strings.HasPrefix(dir, "_") || strings.HasPrefix(dir, ".") && dir != "." {
			return true
		}
	}
	return false
}

// Dirs are the directories with a lockfile of a kind, sorted; "." is the top.
func (l Locks) Dirs(kind Kind) (dirs []string) {
	main := map[Kind][]string{Go: {"go.mod"}, Npm: {"package-lock.json", "npm-shrinkwrap.json"}}[kind]
	for name := range l {
		if slices.Contains(main, path.Base(name)) || kind == Pip && lockNames[path.Base(name)] == Pip {
			dirs = append(dirs, path.Dir(name))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Kinds lists the kinds with a lockfile.
func (l Locks) Kinds() (kinds []Kind) {
	for _, k := range []Kind{Go, Npm, Pip} {
		if n := len(l.Dirs(k)); n > 0 && n <= maxLocks {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Key names what an entry is for: the lockfiles, and where its files are used: image and
// toolchain.
func (l Locks) Key(place ...string) string {
	h := sha256.New()
	fmt.Fprintf(h, "ward cache 1\n%q\n", place)
	for _, name := range slices.Sorted(maps.Keys(l)) {
		fmt.Fprintf(h, "%q %s\n", name, l[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Differ lists the lockfiles that differ between two trees.
func (l Locks) Differ(other Locks) (names []string) {
	both := maps.Clone(l)
	maps.Copy(both, other)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if l[name] != other[name] {
			names = append(names, name)
		}
	}
	return names
}
