package checks

import (
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/protocols/record"
)

var runtimeCheck = Check{
	Name:  "runtime",
	Doc:   "Keeps logs/, .signal/ and .ward/ out of history: they belong to one run on one machine, and may hold anything. A project beside a control branch may have logs/ and .signal/ of its own.",
	Rules: []string{"runtime/logs", "runtime/signal", "runtime/ward"},
	Path: func(pass *Pass, c *walk.Commit, change walk.Change) {
		dir := runtimeDir(c, change.Path)
		if dir == "" {
			return
		}
		pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Ref: c.Ref, Rule: "runtime/" + strings.Trim(dir, "./"),
			Message: dir + " is never committed",
			Hint:    "git rm -r --cached " + dir + ", and keep " + dir + " in .gitignore"})
	},
}

// runtimeDir is the runtime directory that contains a path, "" for none.
func runtimeDir(c *walk.Commit, path string) string {
	switch {
	case recordView().Covers(path):
		return record.Dir + "/"
	case !c.History.Documents() || !runtimeList().Covers(path):
		return ""
	}
	if first, _, _ := strings.Cut(path, "/"); filename.Is(first, ".signal") {
		return ".signal/"
	}
	return "logs/"
}
