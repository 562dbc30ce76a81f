package checks

import (
	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/protocols/forge"
)

// maxWord bounds a forge pass's report, in bytes.
const maxWord = 1 << 20

// forgeAlone lets the project's branch only move to what its owning forge has: any other
// commit would make the two diverge. The PM may let in what the last pass reported as stopped.
func forgeAlone(pass *Pass, u push.Update) {
	p := pass.Push
	if p.Principal == push.Member && p.Name == forge.Principal {
		return
	}
	if p.Principal == push.PM {
		if tip, err := pass.Repo.Tip(forge.WordRef); err == nil && tip != "" {
			if word, err := pass.Repo.Blob(tip, maxWord); err == nil && forge.Admits(word, u.Ref, u.New) {
				return
			}
		}
	}
	pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "rights/forge", Message: "a forge owns " + branchName(u.Ref) + ", and it alone moves it",
		Hint: "merge on the forge, or on the host: git ward take D-n; a commit of the forge's that stays behind (git ward status) the PM pushes as it is there"})
}
