package checks

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

var pathCheck = Check{
	Name: "path",
	Doc:  "Refuses file names that terminals obey, that people cannot see, or that some file system takes for .git.",
	Path: func(r *Run, c *Commit, change Change) {
		what, hint := deceptive(change.Path, false), "rename it: git mv"
		if what == "" {
			for part := range strings.SplitSeq(change.Path, "/") {
				if isDotGit(part) {
					what, hint = "a name that some file systems take for .git", "remove it from every commit of the push"
				}
			}
		}
		if what != "" {
			r.Report(diag.Diagnostic{Pos: at(c, change.Path), Rule: "path/name", Message: "the path holds " + what, Hint: hint})
		}
	},
}

// isDotGit reports names equal to .git under case folding, under HFS+'s ignored
// code points, or under NTFS's short names, trailing dots, spaces and streams.
// Git's own fsck knows them as well; this holds where fsckObjects was turned off.
func isDotGit(name string) bool {
	name = strings.Map(func(ch rune) rune {
		if unicode.Is(unicode.Cf, ch) {
			return -1
		}
		return unicode.ToLower(ch)
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, " .")
	return name == ".git" || name == "git~1"
}

var namesCheck = Check{
	Name: "names",
	Doc: "Refuses two names in one directory that differ only in case: on a file system that folds case one of them " +
		"replaces the other.",
	Names: func(r *Run, c *Commit, dir string, entries []git.Entry) {
		seen := make(map[string]string, len(entries))
		for _, e := range entries {
			folded := fold(e.Name)
			if other, ok := seen[folded]; ok {
				r.Report(diag.Diagnostic{Pos: at(c, dir+e.Name), Rule: "path/case",
					Message: fmt.Sprintf("differs from %q only in case", other), Hint: "rename one of them: git mv"})
			}
			seen[folded] = e.Name
		}
	},
}

// fold maps names that are equal under Unicode simple case folding to one.
func fold(name string) string {
	return strings.Map(func(ch rune) rune {
		least := ch
		for next := unicode.SimpleFold(ch); next != ch; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// documents are the files that people and the agent read as instructions or as
// data. They are plain files, so that what is read is what was pushed.
var documents = []string{"COMMS.md", "SYSTEM.md", "AGENTS.md", "LEARNINGS.md", "VERSION",
	"knowledge_core/", "plans/", "protocols/", "skills/", "spec/", "postmortems/", "evidence/"}

// directories are the names that documents live below.
func isDocument(p string) bool { return covers(documents, p) }

var modeCheck = Check{
	Name: "mode",
	Doc:  "Documents are regular files of mode 100644; from the agent no submodule comes in, nor a .gitmodules file.",
	Path: func(r *Run, c *Commit, change Change) {
		report := func(rule, message, hint string) {
			r.Report(diag.Diagnostic{Pos: at(c, change.Path), Rule: rule, Message: message, Hint: hint})
		}
		switch mode := change.New.Mode; {
		case isDocument(change.Path) && mode != git.ModeFile:
			report("mode/document", fmt.Sprintf("a document must be a regular file of mode 100644, not %06o", mode),
				"replace a link by the file itself; git update-index --chmod=-x for an executable")
		case mode == git.ModeGitlink && r.Principal == Agent:
			report("mode/submodule", "the agent may not add submodules", "add the files themselves: git rm --cached, then git add")
		case strings.EqualFold(path.Base(change.Path), ".gitmodules") && r.Principal == Agent:
			report("mode/submodule", "the agent may not configure submodules", "remove the file from the push")
		case !slices.Contains([]git.Mode{git.ModeFile, git.ModeExec, git.ModeSymlink, git.ModeGitlink}, mode):
			report("mode/unknown", fmt.Sprintf("mode %06o is not one that git writes", mode), "commit the file again with git add")
		}
	},
}

var linkCheck = Check{
	Name: "link",
	Doc:  "From the agent no symbolic link is absolute or holds `..`: one such link defeats every check of the paths behind it.",
	Blob: func(r *Run, c *Commit, change Change, data []byte) {
		r.linkTarget(c, change, data)
	},
}

func (r *Run) linkTarget(c *Commit, change Change, data []byte) {
	if change.New.Mode != git.ModeSymlink || r.Principal != Agent {
		return
	}
	target := string(data)
	if strings.HasPrefix(target, "/") || slices.Contains(strings.Split(target, "/"), "..") {
		r.Report(diag.Diagnostic{Pos: at(c, change.Path), Rule: "link/target",
			Message: fmt.Sprintf("the link leads to %q, out of its own directory", target),
			Hint:    "link downwards only, or copy the file"})
	}
}

var runtimeCheck = Check{
	Name: "runtime",
	Doc:  "Keeps logs/ and .signal/ out of history: they belong to one run on one machine, and may hold anything.",
	Path: func(r *Run, c *Commit, change Change) {
		for _, dir := range []string{"logs/", ".signal/"} {
			if covers([]string{dir}, change.Path) {
				r.Report(diag.Diagnostic{Pos: at(c, change.Path), Rule: "runtime/" + strings.Trim(dir, "./"),
					Message: dir + " is never committed",
					Hint:    "git rm -r --cached " + dir + ", and keep " + dir + " in .gitignore"})
			}
		}
	},
}
