package checks

import (
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
)

var redactedCheck = Check{
	Name: "redacted",
	Doc: "What the PM redacted does not come back, by a merge or a push of the history of before, on any ref, under any name, from " +
		"anybody (REC-5).",
	Rules: []string{"redacted/blob"},
	Path: func(pass *Pass, c *walk.Commit, change walk.Change) {
		if pass.Push.Redacted[change.New.ID] {
			pass.Report(diag.Diagnostic{Pos: at(c, change.Path), Ref: c.Ref, Rule: "redacted/blob",
				Message: "the PM took this content out of the history",
				Hint:    "clone anew and bring your own commits there (git cherry-pick), or take it out of this commit (git rebase -i)"})
		}
	},
}
