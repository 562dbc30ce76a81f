package checks

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

var pathCheck = Check{
	Name: "path",
	Doc: "Refuses file names that terminals obey, that people cannot see, that some file system takes for .git or for " +
		"nothing, and other spellings of the names of Ward's documents (GATE-4, GATE-5).",
	Rules: []string{"path/name", "path/document"},
	Path:  func(pass *Pass, c *walk.Commit, change walk.Change) { judgeName(pass, c, change.Path) },
	Names: func(pass *Pass, c *walk.Commit, dir string, entries []git.Entry, in []uint16) {
		for i, e := range entries {
			if in[i] == 0 && e.ID == git.EmptyTree { // it has no paths that Path would see
				judgeName(pass, c, dir+e.Name)
			}
		}
	},
}

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
	if isDocument(c, path) && !onList(documents, path) && !slices.Contains(documents, path+"/") {
		report("path/document", "some file systems take it for a document of Ward's, which is spelled otherwise",
			"give it the document's own name, or a name of its own: git mv")
	}
}

// onList reports whether a path is on a list or below a listed directory ("dir/"), compared
// exactly, without case folding.
func onList(paths []string, path string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)
	})
}
