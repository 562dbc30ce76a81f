package checks

import (
	"fmt"
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

var namesCheck = Check{
	Name: "names",
	Doc: "Refuses two names in one directory that some file system takes for one, by case, accents, or what it leaves out: " +
		"there one of them replaces the other. A merge that brings them together is judged, too.",
	Rules: []string{"path/case"},
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
			// A directory that was judged with both names is not judged again, and a missing
			// file's streams cannot replace each other.
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
