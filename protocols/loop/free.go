package loop

import (
	"slices"
	"strings"

	"git-ward/protocols/comms"
)

// freePaths are what may differ between a judged commit and what is merged, where the
// project's branch holds Ward's papers, too (HOOK-4): words about the work, and indexes
// that are rebuilt from it.
var freePaths = []string{
	comms.Path, "evidence/", "postmortems/", LearningsPath,
	"knowledge_core/lessons.jsonl", "knowledge_core/symbols.json", "knowledge_core/dependency_graph.json",
}

// Free reports whether a path may differ between a judged commit and what is merged:
// split says that the project has none of Ward's papers (CTRL-1). Case is not folded.
func Free(path string, split bool) bool {
	return slices.ContainsFunc(freePaths, func(p string) bool {
		return !split && (path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p))
	})
}
