package checks

import (
	"fmt"
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

var modeCheck = Check{
	Name: "mode",
	Doc: "Documents are regular files of mode 100644; from the agent no submodule comes in, nor a .gitmodules file, and from " +
		"nobody a file that only some file systems take for one.",
	Rules: []string{"mode/document", "mode/submodule"},
	Path: func(pass *Pass, c *walk.Commit, change walk.Change) {
		report := func(rule, message, hint string) {
			pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Ref: c.Ref, Rule: rule, Message: message, Hint: hint})
		}
		mode := change.New.Mode
		modules := dotModules().Covers(change.Path)
		spelled := change.Path == ".gitmodules" || strings.HasSuffix(change.Path, "/.gitmodules")
		switch {
		case isDocument(c, change.Path) && mode != git.ModeFile:
			report("mode/document", fmt.Sprintf("a document must be a regular file of mode 100644, not %06o", mode),
				"replace a link by the file itself; git update-index --chmod=-x for an executable")
		case mode == git.ModeGitlink && pass.Push.Principal.Fenced():
			report("mode/submodule", "the agent may not add submodules", "add the files themselves: git rm --cached, then git add")
		case modules && pass.Push.Principal.Fenced():
			report("mode/submodule", "the agent may not configure submodules", "remove the file from the push")
		case modules && (!spelled || mode == git.ModeSymlink):
			report("mode/submodule", "git takes it for .gitmodules on some file systems", "name it .gitmodules, as a regular file, or otherwise")
		}
	},
}
