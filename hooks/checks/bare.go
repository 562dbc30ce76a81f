package checks

import (
	"strings"

	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

var bareCheck = Check{
	Name: "bare",
	Doc: "A directory that git would take for a repository (HEAD, objects, refs) runs its own configuration for whoever enters it: " +
		"from the agent none comes in, others are warned.",
	Rules: []string{"path/repository"},
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
