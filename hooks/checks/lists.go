package checks

import (
	"sync"

	"git-ward/hooks/walk"
	"git-ward/internal/filename"
	"git-ward/protocols/record"
)

// documents are the files that people and the agent read as instructions or data. They must be
// regular files, so that what is read is what was pushed.
var documents = []string{"COMMS.md", "SYSTEM.md", "AGENTS.md", "LEARNINGS.md", "VERSION",
	"knowledge_core/", "plans/", "protocols/", "skills/", "spec/", "postmortems/", "evidence/"}

// Names to compare with, in every spelling that some file system treats as equal. They are
// built on first use, because a hook's start is part of every push.
var (
	dotGit       = list(".git/")
	dotModules   = list(".gitmodules")
	documentList = list(rooted(documents)...)
	runtimeList  = list("/logs/", "/.signal/")
	recordView   = list("/" + record.Dir + "/")
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

// isDocument reports whether a path of a commit is one of Ward's documents.
func isDocument(c *walk.Commit, path string) bool {
	return c.History.Documents() && documentList().Covers(path)
}
