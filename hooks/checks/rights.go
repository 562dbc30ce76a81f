package checks

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

var rightsCheck = Check{
	Name: "rights",
	Doc: "Holds the agent to its own branches and, on main, to Reports and Questions of COMMS.md by fast-forward " +
		"(HOOK-4), the watcher to Reports on main, a member to branches that are not main, tags and notes (ID-2). The agent's history " +
		"does not come from nowhere: a branch without a merge base with main is not its to make.",
	Rules: []string{"rights/ref", "rights/rewrite", "rights/merge-base", "rights/main", "rights/branches"},
	Ref: func(pass *Pass, u push.Update) {
		if message, hint := badRight(pass.Push.Principal, u.Ref); message != "" {
			pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "rights/ref", Message: message, Hint: hint})
		}
	},
	Tip: func(pass *Pass, t *walk.Tip) error {
		rewrite := push.IsMain(t.Ref) && t.Old != git.Zero && !t.Forward
		switch {
		case rewrite && pass.Push.Principal == push.PM:
			pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/rewrite", Severity: diag.Warning,
				Message: "main was rewritten: commits that others have are gone from it",
				Hint:    "the audit (git ward log) still names the old tip " + diag.Short(t.Old)})
			return nil
		case !pass.Push.Principal.Fenced():
			return nil
		case t.Base == "":
			pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/merge-base", Message: "shares no history with main",
				Hint: "start the branch from main: git switch -c agent/<name> origin/main"})
			return nil
		case rewrite:
			pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/rewrite", Message: fmt.Sprintf("the %s moves main by fast-forward only", pass.Push.Principal),
				Hint: "fetch, rebase on origin/main, push without force"})
		}
		if push.IsMain(t.Ref) {
			return judgeMerge(pass, t)
		}
		return countBranches(pass, t)
	},
}

// badRight says why a principal may not push a ref, "" for nothing.
func badRight(who push.Principal, ref string) (message, hint string) {
	switch who {
	case push.PM:
		return "", ""
	case push.Agent:
		if !push.IsMain(ref) && !push.IsAgentBranch(ref) && !push.IsJournal(ref) {
			return "the agent may not push this ref", "push to agent/<name> or rescue/<name>; main takes your reports in COMMS.md only"
		}
	case push.Watcher:
		if !push.IsMain(ref) {
			return "the watcher may not push this ref", "it appends Reports to COMMS.md on main; rescue/** goes by the agent's door"
		}
	case push.Member:
		known := push.IsBranch(ref) || strings.HasPrefix(ref, "refs/tags/") || strings.HasPrefix(ref, "refs/notes/")
		if push.IsMain(ref) || !known {
			return "a member may not push this ref", "push to a branch of your own; the PM merges it into main"
		}
	default:
		return fmt.Sprintf("nobody knows what %q may push", string(who)), "the host admin sets [identity] in config.toml"
	}
	return "", ""
}

// countBranches bounds how many branches the agent has, when it makes one more. Those
// that are there count though the push deletes them: a deletion may fail.
func countBranches(pass *Pass, t *walk.Tip) error {
	if t.Old != git.Zero || !pass.Push.Received {
		return nil
	}
	refs, err := pass.refs()
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, name := range slices.Concat(refs.now, refs.coming) {
		have[name] = push.IsAgentBranch(name)
	}
	for _, u := range pass.Push.Updates { // new ones of this push count, too
		if u.New != git.Zero {
			have[u.Ref] = push.IsAgentBranch(u.Ref)
		}
	}
	count := 0
	for _, agents := range have {
		if agents {
			count++
		}
	}
	if most := pass.Push.Config.Rights.AgentBranches; count > most {
		pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/branches",
			Message: fmt.Sprintf("the agent would have more than %d branches", most),
			Hint:    "delete one that is done: git push origin --delete agent/<name>"})
	}
	return nil
}
