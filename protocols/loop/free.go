package loop

import (
	"slices"
	"strings"

	"git-ward/protocols/comms"
)

// freePaths may differ between a judged commit and the merged one, if the project's branch also has
// Ward's files (HOOK-4): texts about the work, and indexes that are rebuilt from it.
var freePaths = []string{
	comms.Path, "evidence/", "postmortems/", LearningsPath,
	"knowledge_core/lessons.jsonl", "knowledge_core/symbols.json", "knowledge_core/dependency_graph.json",
}

// Free reports whether a path may differ between a judged commit and the merged one. split says
// that the project's branch has none of Ward's files (CTRL-1). Case is not folded.
func Free(path string, split bool) bool {
	return slices.ContainsFunc(freePaths, func(p string) bool {
		return !split && (path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p))
	})
}
