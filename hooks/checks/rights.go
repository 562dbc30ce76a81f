package checks

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
)

var rightsCheck = Check{
	Name: "rights",
	Doc: "Holds the agent to its own branches, its units' journals and records and, on the control branch, to Reports and Questions of COMMS.md by " +
		"fast-forward (HOOK-4), the watcher to Reports there, a member to branches that are not the control branch, tags and notes (ID-2). The agent's history " +
		"does not come from nowhere: a branch without a merge base with main is not its to make. Where the control branch is apart from the " +
		"project's, neither history enters the other (CTRL-1). That work was taken is people's to say (REC-3). Where a forge owns the project's branch, " +
		"it alone moves it (FORGE-1).",
	Rules: []string{"rights/ref", "rights/rewrite", "rights/merge-base", "rights/main", "rights/branches", "rights/histories", "rights/taken", "rights/forge"},
	Ref: func(pass *Pass, u push.Update) {
		if message, hint := badRight(pass.Push, u.Ref); message != "" {
			pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "rights/ref", Message: message, Hint: hint})
		} else if pass.Push.Config.OnForge() && pass.Push.Config.Control.Split() && pass.Push.isProject(u.Ref) {
			forgeAlone(pass, u)
		}
	},
	Commit: notTaken,
	Tip: func(pass *Pass, t *walk.Tip) error {
		if err := histories(pass, t); err != nil {
			return err
		}
		rewrite := pass.Push.isMain(t.Ref) && t.Old != git.Zero && !t.Forward
		switch {
		case rewrite && pass.Push.Principal == push.PM:
			pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/rewrite", Severity: diag.Warning,
				Message: branchName(t.Ref) + " was rewritten: commits that others have are gone from it",
				Hint:    "the audit (git ward log) still names the old tip " + diag.Short(t.Old)})
			return nil
		case !pass.Push.Principal.Fenced():
			return nil
		case t.Base == "":
			main := mainOf(pass, t.History)
			pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/merge-base", Message: "shares no history with " + main,
				Hint: "start the branch from " + main + ": git switch -c agent/<name> origin/" + main})
			return nil
		case rewrite:
			pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/rewrite", Message: fmt.Sprintf("the %s moves %s by fast-forward only", pass.Push.Principal, branchName(t.Ref)),
				Hint: "fetch, rebase on origin/" + branchName(t.Ref) + ", push without force"})
		}
		if pass.Push.isMain(t.Ref) {
			return judgeMerge(pass, t)
		}
		return countBranches(pass, t)
	},
}

// notTaken refuses a commit from inside the fence that claims to have taken work: merged with
// the agent's own work, it would mark another directive's as taken.
func notTaken(pass *Pass, c *walk.Commit) {
	if !pass.Push.Principal.Fenced() {
		return
	}
	for line := range strings.Lines(c.Message) {
		if key, _, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(key), record.TrailerTaken) {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID}, Ref: c.Ref, Rule: "rights/taken", Message: "only people say that work was taken: " + record.TrailerTaken,
				Hint: "leave the line out: git commit --amend"})
			return
		}
	}
}

// badRight says why a principal may not push a ref, "" if it may.
func badRight(p *Push, ref string) (message, hint string) {
	control := p.Config.Control.Branch
	switch p.Principal {
	case push.PM:
		return "", ""
	case push.Agent:
		if !p.isMain(ref) && !push.IsAgentBranch(ref) && !push.IsJournal(ref) && !push.IsRecord(ref) {
			return "the agent may not push this ref", "push to agent/<name> or rescue/<name>; " + control + " takes your reports in COMMS.md only"
		}
	case push.Watcher:
		if !p.isControl(ref) {
			return "the watcher may not push this ref", "it appends Reports to COMMS.md on " + control + "; rescue/** goes by the agent's door"
		}
	case push.Member:
		known := push.IsBranch(ref) || strings.HasPrefix(ref, "refs/tags/") || strings.HasPrefix(ref, "refs/notes/")
		if p.isControl(ref) || !known {
			return "a member may not push this ref", "push to a branch of your own; the PM moves " + control
		}
	default:
		return fmt.Sprintf("nobody knows what %q may push", string(p.Principal)), "the host admin sets [identity] in config.toml"
	}
	return "", ""
}

// mainOf is the name of a history's main branch.
func mainOf(pass *Pass, h push.History) string {
	if h == push.Control {
		return pass.Push.Config.Control.Branch
	}
	return pass.Push.Config.Control.Project
}

// mainVersion is the remedy for paths that must be as on a history's main.
func mainVersion(pass *Pass, h push.History, paths string) string {
	main := mainOf(pass, h)
	return fmt.Sprintf("take %s's version: git checkout origin/%s -- %s (or git rm it when %s has none)", main, main, paths, main)
}

// histories refuses a branch or tag that would bring the project's history into the control
// branch's, or the reverse (CTRL-1). A person's branch may contain control's history alone: it
// may be on its way there.
func histories(pass *Pass, t *walk.Tip) error {
	if names := pass.Push.Config.Control; !names.Split() || !t.Merges { // else it stands on what was judged
		return nil
	}
	return mixed(pass, t)
}

// mixed does so whatever is known of the commits up to the tip.
func mixed(pass *Pass, t *walk.Tip) error {
	names := pass.Push.Config.Control
	foreign, own := names.Ref(), names.ProjectRef()
	if t.History == push.Control {
		foreign, own = own, foreign
	}
	both, err := shares(pass, t, foreign)
	if err == nil && both && t.History == push.Project && !pass.Push.isProject(t.Ref) && !pass.Push.Principal.Fenced() {
		base, trouble := pass.Repo.MergeBase(t.New, pass.Repo.Main(push.Project))
		both, err = base != "", trouble
	}
	if err == nil && both {
		pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/histories",
			Message: fmt.Sprintf("holds history of %s, which has nothing in common with that of %s", branchName(foreign), branchName(own)),
			Hint:    "keep the two apart: start from origin/" + branchName(own) + ", and copy files where you need them"})
	}
	return err
}

// shares reports whether a tip has a common commit with a branch, before or after the push.
func shares(pass *Pass, t *walk.Tip, ref string) (bool, error) {
	history := push.HistoryOf(pass.Push.Config.Control, ref)
	after, err := pass.after(ref)
	if err != nil {
		return false, err
	}
	for _, commit := range slices.Compact([]string{pass.Repo.Main(history), after}) {
		if commit == git.Zero {
			continue
		}
		if base, err := pass.Repo.MergeBase(t.New, commit); base != "" || err != nil {
			return base != "", err
		}
	}
	return false, nil
}

// maxWorkerBranches bounds the work and rescue branches of a directive with a worker.
const maxWorkerBranches = 20

// countBranches limits the agent's branches when it creates one. Branches that the push
// deletes count, because the deletion may fail.
func countBranches(pass *Pass, t *walk.Tip) error {
	if t.Old != git.Zero || t.Beside || !pass.Push.Received {
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
	count, most := 0, pass.Push.Config.Rights.AgentBranches
	own := pass.Push.Lease.Directive != "" && directiveOf(t.Ref) == pass.Push.Lease.Directive
	for name, agents := range have {
		if agents && (!own || directiveOf(name) == pass.Push.Lease.Directive) {
			count++
		}
	}
	who, done := "the agent", "agent/<name>; the host admin raises [rights] agent_branches"
	if own { // a worker's own are few, and others' do not reduce them
		who = pass.Push.Lease.Directive
		most, done = min(most, maxWorkerBranches), fmt.Sprintf("agent/%s-<name>; [rights] agent_branches is for all, and a worker has %d at most", who, maxWorkerBranches)
	}
	if count > most {
		pass.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/branches",
			Message: fmt.Sprintf("%s would have more than %d branches", who, most),
			Hint:    "delete one that is done: git push origin --delete " + done})
	}
	return nil
}
