package checks

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

var rightsCheck = Check{
	Name: "rights",
	Doc: "Holds the agent to its own branches and, on main, to Reports and Questions of COMMS.md by fast-forward " +
		"(HOOK-4), the watcher to Reports on main, a member to branches that are not main, tags and notes (ID-2). The agent's history " +
		"does not come from nowhere: a branch without a merge base with main is not its to make.",
	Ref: func(r *Run, u push.Update) {
		message, hint := "", ""
		onMain := push.IsMain(u.Ref)
		switch r.Principal {
		case push.PM:
		case push.Agent:
			if !onMain && !push.IsAgentBranch(u.Ref) && !push.IsJournal(u.Ref) {
				message, hint = "the agent may not push this ref", "push to agent/<name> or rescue/<name>; main takes your reports in COMMS.md only"
			}
		case push.Watcher:
			if !onMain {
				message, hint = "the watcher may not push this ref", "it appends Reports to COMMS.md on main; rescue/** goes by the agent's door"
			}
		case push.Member:
			known := push.IsBranch(u.Ref) || strings.HasPrefix(u.Ref, "refs/tags/") || strings.HasPrefix(u.Ref, "refs/notes/")
			if onMain || !known {
				message, hint = "a member may not push this ref", "push to a branch of your own; the PM merges it into main"
			}
		default:
			message, hint = fmt.Sprintf("nobody knows what %q may push", string(r.Principal)), "the host admin sets [identity] in config.toml"
		}
		if message != "" {
			r.Report(diag.Diagnostic{Ref: u.Ref, Rule: "rights/ref", Message: message, Hint: hint})
		}
	},
	Tip: func(r *Run, t *Tip) error {
		onMain := push.IsMain(t.Ref)
		rewrite := onMain && t.Old != git.Zero && !t.Forward
		if r.Principal == push.PM {
			if rewrite {
				r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/rewrite", Severity: diag.Warning,
					Message: "main was rewritten: commits that others have are gone from it",
					Hint:    "the audit (git ward log) still names the old tip " + diag.Short(t.Old)})
			}
			return nil
		}
		if r.Principal == push.Member {
			return nil
		}
		if t.Base == "" {
			r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/merge-base", Message: "shares no history with main",
				Hint: "start the branch from main: git switch -c agent/<name> origin/main"})
			return nil
		}
		if rewrite {
			r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/rewrite", Message: fmt.Sprintf("the %s moves main by fast-forward only", r.Principal),
				Hint: "fetch, rebase on origin/main, push without force"})
		}
		if onMain {
			return r.mergeRight(t)
		}
		return r.countBranches(t)
	},
}

// countBranches bounds how many branches the agent has, when it makes one more.
func (r *Run) countBranches(t *Tip) error {
	if t.Old != git.Zero || !r.Received {
		return nil
	}
	coming, err := r.underWay() // before the refs are read, as in refNames
	if err != nil {
		return err
	}
	out, err := r.repo.Output(r.ctx, "for-each-ref", "--format=%(refname)",
		fmt.Sprintf("--count=%d", r.Config.Rights.AgentBranches+1), "refs/heads/agent/", "refs/heads/rescue/")
	if err != nil {
		return err
	}
	have := strings.Fields(string(out))
	for _, u := range r.Updates { // new ones of this push count, too
		if push.IsAgentBranch(u.Ref) && u.Old == git.Zero && u.New != git.Zero && !slices.Contains(have, u.Ref) {
			have = append(have, u.Ref)
		}
	}
	for _, name := range coming {
		if push.IsAgentBranch(name) && !slices.Contains(have, name) {
			have = append(have, name)
		}
	}
	if len(have) > r.Config.Rights.AgentBranches {
		r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/branches",
			Message: fmt.Sprintf("the agent would have more than %d branches", r.Config.Rights.AgentBranches),
			Hint:    "delete one that is done: git push origin --delete agent/<name>"})
	}
	return nil
}
