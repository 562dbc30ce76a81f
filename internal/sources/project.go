package sources

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
	"github.com/bmatcuk/doublestar/v4"

	"git-ward/internal/pattern"
)

// Tree maps the paths of a commit's files, links and submodules to "mode id".
type Tree map[string]string

// Blobs reads a blob by its id; ok is false if it is missing or has more than limit bytes.
type Blobs func(id string, limit int64) (string, bool)

// Project has the sources that a tree's manifests declare.
type Project struct {
	tree  Tree
	blobs Blobs
	globs []string
	words []string // of the command lines that its manifests have
	found func() map[string]bool
}

// index has the names that a language may look up without an extension: each directory, and each file
// without its extension, whatever that is. It is made once, because making it reads the whole tree, and a
// claim may have as many new files as the tree.
func index(tree Tree) map[string]bool {
	found := map[string]bool{}
	for name := range tree {
		found[strings.TrimSuffix(name, path.Ext(name))] = true
		for dir := path.Dir(name); dir != "." && !found[dir+"/"]; dir = path.Dir(dir) {
			found[dir], found[dir+"/"] = true, true
		}
	}
	return found
}

// pyName matches the name of a Python project. In a setup.py it is an argument, and without quotes a
// variable.
var (
	pyName    = pattern.New(`(?m)^[ \t]*name[ \t]*=[ \t]*["']?([\w.-]+)["']?[ \t]*$`)
	setupName = pattern.New(`(?m)(?:^|\bsetup\()[ \t]*name[ \t]*=[ \t]*["']([\w.-]+)["'][ \t]*(?:[,)]|$)`)
)

// maxText bounds a text that is read, in bytes.
const maxText = 1 << 20

// Read finds the sources of a tree's projects.
func Read(tree Tree, blobs Blobs) *Project {
	p := &Project{tree: tree, blobs: blobs, found: sync.OnceValue(func() map[string]bool { return index(tree) })}
	manifests := make([][]string, len(languages))
	for i, l := range languages {
		manifests[i] = strings.Fields(l.manifests)
	}
	for name, entry := range tree {
		for i, l := range languages {
			dir := path.Dir(name) // a setup.py is apart, and what it is beside is not
			if !matches(manifests[i], path.Base(name)) || dir != "." && isApart(dir) || IsTest(name) {
				continue
			}
			for _, g := range strings.Fields(l.work) {
				p.add(dir, g)
			}
			switch path.Base(name) {
			case "pyproject.toml", "setup.cfg":
				p.python(dir, pyName.FindAllStringSubmatch(p.text(entry), -1))
			case "setup.py":
				p.python(dir, setupName.FindAllStringSubmatch(p.text(entry), -1))
			case "Cargo.toml":
				p.cargo(dir, p.text(entry))
			case "package.json":
				p.scripts(p.text(entry))
			}
		}
	}
	return p
}

// text returns the content of a tree's entry, "" if it cannot be read.
func (p *Project) text(entry string) string {
	_, id, _ := strings.Cut(entry, " ")
	text, _ := p.blobs(id, maxText)
	return text
}

// add adds a glob below a directory, unless the directory's name has a glob's characters.
func (p *Project) add(dir, glob string) {
	if !strings.ContainsAny(dir, `*?[]{}\`) {
		p.globs = append(p.globs, path.Join(dir, glob))
	}
}

// python adds the packages that exist in a project's directory, and the module of each name that its
// manifests declare. A new package beside them is not work, because it could shadow a library.
func (p *Project) python(dir string, names [][]string) {
	for name := range p.tree {
		pkg, file := path.Split(name)
		if pkg = path.Clean(pkg); file == "__init__.py" && path.Dir(pkg) == dir && pkg != "." {
			p.add(pkg, "**/*.py")
			p.add(pkg, "**/*.pyi")
		}
	}
	for _, m := range names {
		if module := path.Join(dir, strings.ReplaceAll(m[1], "-", "_")+".py"); p.tree[module] != "" {
			p.add(dir, path.Base(module))
		}
	}
}

// cargo adds the files that a manifest declares as the roots of its crates.
func (p *Project) cargo(dir, text string) {
	type root struct{ Path string }
	var manifest struct {
		Lib root
		Bin []root
	}
	if toml.Unmarshal([]byte(text), &manifest) != nil {
		return
	}
	for _, r := range append(manifest.Bin, manifest.Lib) {
		if name := path.Join(dir, r.Path); r.Path != "" && p.tree[name] != "" && !strings.ContainsAny(name, `*?[]{}\`) {
			p.add(dir, r.Path)
		}
	}
}

// scripts records the command lines of a package.json: they run what they name.
func (p *Project) scripts(text string) {
	var manifest struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &manifest) == nil {
		for _, line := range manifest.Scripts {
			p.words = append(p.words, Words(line)...)
		}
	}
}

// IsWork reports whether a path is a source of the projects, and cannot be anything else, such
// as a file that would shadow an existing source.
func (p *Project) IsWork(name string) bool {
	return !isApart(name) && !p.hides(name) && slices.ContainsFunc(p.globs, func(g string) bool {
		ok, _ := doublestar.Match(g, name)
		return ok
	})
}

// hides reports whether a new path differs only by its extension from a directory or a file, in a
// language that looks names up without one: it may be found in the other's place.
func (p *Project) hides(name string) bool {
	l := of(name)
	return l != nil && l.bare && p.tree[name] == "" && p.found()[strings.TrimSuffix(name, path.Ext(name))]
}
