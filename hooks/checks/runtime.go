package checks

import (
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
)

var runtimeCheck = Check{
	Name:  "runtime",
	Doc:   "Keeps logs/ and .signal/ out of history: they belong to one run on one machine, and may hold anything.",
	Rules: []string{"runtime/logs", "runtime/signal"},
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
