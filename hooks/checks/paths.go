package checks

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

// documents are the files that people and the agent read as instructions or as
// data. They are plain files, so that what is read is what was pushed.
var documents = []string{"COMMS.md", "SYSTEM.md", "AGENTS.md", "LEARNINGS.md", "VERSION",
	"knowledge_core/", "plans/", "protocols/", "skills/", "spec/", "postmortems/", "evidence/"}

// What names are compared with, in every spelling that some file system folds; made
// when it is first asked for, because a hook's start is part of every push.
var (
	dotGit       = list(".git/")
	dotModules   = list(".gitmodules")
	documentList = list(rooted(documents)...)
	runtimeList  = list("/logs/", "/.signal/")
)

func list(patterns ...string) func() *filename.List {
	return sync.OnceValue(func() *filename.List { return filename.NewList(patterns...) })
}

// rooted makes patterns of paths from the root.
func rooted(paths []string) (patterns []string) {
	for _, p := range paths {
		patterns = append(patterns, "/"+p)
	}
	return patterns
}

func isDocument(path string) bool { return documentList().Covers(path) }

var pathCheck = Check{
	Name: "path",
	Doc: "Refuses file names that terminals obey, that people cannot see, that some file system takes for .git or for " +
		"nothing, and other spellings of the names of Ward's documents (GATE-4, GATE-5).",
	Path: func(pass *Pass, c *walk.Commit, change walk.Change) { judgeName(pass, c, change.Path) },
	Names: func(pass *Pass, c *walk.Commit, dir string, entries []git.Entry, in []uint16) {
		for i, e := range entries {
			if in[i] == 0 && e.ID == emptyTree { // it has no paths that Path would see
				judgeName(pass, c, dir+e.Name)
			}
		}
	},
}

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// judgeName judges a path by its names alone.
func judgeName(pass *Pass, c *walk.Commit, path string) {
	report := func(rule, message, hint string) {
		pass.Report(diag.Diagnostic{Pos: at(c, path), Ref: c.Ref, Rule: rule, Message: message, Hint: hint})
	}
	if h, found := diag.FindHidden(path, false); found {
		report("path/name", "the path holds "+h.What, "rename it: git mv")
		return
	}
	if dotGit().Covers(path) {
		report("path/name", "the path holds a name that some file systems take for .git", "remove it from every commit of the push")
		return
	}
	for name := range strings.SplitSeq(path, "/") {
		if filename.Key(name) == "" {
			report("path/name", fmt.Sprintf("the path holds the name %q, which Windows takes for none", name), "rename it: git mv")
			return
		}
	}
	if isDocument(path) && !onList(documents, path) && !slices.Contains(documents, path+"/") {
		report("path/document", "some file systems take it for a document of Ward's, which is spelled otherwise",
			"give it the document's own name, or a name of its own: git mv")
	}
}

var namesCheck = Check{
	Name: "names",
	Doc: "Refuses two names in one directory that some file system takes for one, by case, accents, or what it leaves out: " +
		"there one of them replaces the other. A merge that brings them together is judged, too.",
	Names: func(pass *Pass, c *walk.Commit, dir string, entries []git.Entry, in []uint16) {
		seen := make(map[string]int, len(entries))
		for i, e := range entries {
			key := filename.Key(e.Name)
			j, ok := seen[key]
			if !ok {
				seen[key] = i
				continue
			}
			other := entries[j].Name
			// A directory that was judged with both of them is not judged again, and
			// of two streams of a file that is not there none replaces the other.
			if in[i]&in[j] != 0 || strings.Contains(e.Name, ":") && strings.Contains(other, ":") {
				continue
			}
			how := "and %q are one name to some file systems"
			if strings.EqualFold(e.Name, other) {
				how = "differs from %q only in case"
			}
			pass.Report(diag.Diagnostic{Pos: at(c, dir+e.Name), Ref: c.Ref, Rule: "path/case", Message: fmt.Sprintf(how, other), Hint: "rename one of them: git mv"})
		}
	},
}

var modeCheck = Check{
	Name: "mode",
	Doc: "Documents are regular files of mode 100644; from the agent no submodule comes in, nor a .gitmodules file, and from " +
		"nobody a file that only some file systems take for one.",
	Path: func(pass *Pass, c *walk.Commit, change walk.Change) {
		report := func(rule, message, hint string) {
			pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Ref: c.Ref, Rule: rule, Message: message, Hint: hint})
		}
		mode := change.New.Mode
		modules := dotModules().Covers(change.Path)
		spelled := change.Path == ".gitmodules" || strings.HasSuffix(change.Path, "/.gitmodules")
		switch {
		case isDocument(change.Path) && mode != git.ModeFile:
			report("mode/document", fmt.Sprintf("a document must be a regular file of mode 100644, not %06o", mode),
				"replace a link by the file itself; git update-index --chmod=-x for an executable")
		case mode == git.ModeGitlink && pass.Push.Principal.Fenced():
			report("mode/submodule", "the agent may not add submodules", "add the files themselves: git rm --cached, then git add")
		case modules && pass.Push.Principal.Fenced():
			report("mode/submodule", "the agent may not configure submodules", "remove the file from the push")
		case modules && (!spelled || mode == git.ModeSymlink):
			report("mode/submodule", "git takes it for .gitmodules on some file systems", "name it .gitmodules, as a regular file, or otherwise")
		case !slices.Contains([]git.Mode{git.ModeFile, git.ModeExec, git.ModeSymlink, git.ModeGitlink}, mode):
			report("mode/unknown", fmt.Sprintf("mode %06o is not one that git writes", mode), "commit the file again with git add")
		}
	},
}

var bareCheck = Check{
	Name: "bare",
	Doc: "A directory that git would take for a repository (HEAD, objects, refs) runs its own configuration for whoever enters it: " +
		"from the agent none comes in, others are warned.",
	Names: func(pass *Pass, c *walk.Commit, dir string, entries []git.Entry, in []uint16) {
		parents := ^uint16(0) // that have all of it
		parts := map[string]uint16{}
		for i, e := range entries {
			switch key := filename.Key(e.Name); key {
			case "head", "objects", "refs", "commondir":
				parts[key] |= in[i]
			}
		}
		has := func(key string) bool { _, ok := parts[key]; return ok }
		if !has("head") || !has("commondir") && !(has("objects") && has("refs")) { // commondir names where the others are
			return
		}
		for _, in := range parts {
			parents &= in
		}
		if parents != 0 {
			return
		}
		d := diag.Diagnostic{Pos: at(c, strings.TrimSuffix(dir, "/")), Ref: c.Ref, Rule: "path/repository",
			Message: "git takes this directory for a repository, whose configuration runs programs", Hint: "keep such fixtures in an archive, or make them when tests run"}
		if !pass.Push.Principal.Fenced() {
			d.Severity = diag.Warning
		}
		pass.Report(d)
	},
}

var runtimeCheck = Check{
	Name: "runtime",
	Doc:  "Keeps logs/ and .signal/ out of history: they belong to one run on one machine, and may hold anything.",
	Path: func(pass *Pass, c *walk.Commit, change walk.Change) {
		if !runtimeList().Covers(change.Path) {
			return
		}
		dir := "logs/"
		if first, _, _ := strings.Cut(change.Path, "/"); filename.Is(first, ".signal") {
			dir = ".signal/"
		}
		pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Ref: c.Ref, Rule: "runtime/" + strings.Trim(dir, "./"),
			Message: dir + " is never committed",
			Hint:    "git rm -r --cached " + dir + ", and keep " + dir + " in .gitignore"})
	},
}
