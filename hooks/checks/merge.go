package checks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// judgeMerge restricts the agent on main to Reports and Questions of COMMS.md or, with
// [rights] agent_merge, to work with a verdict (HOOK-4). If the control branch is separate
// from the project's, the former applies there and the latter here.
func judgeMerge(pass *Pass, t *walk.Tip) error {
	if t.History == push.Project {
		return judgeProjectMerge(pass, t)
	}
	work := slices.DeleteFunc(slices.Clone(t.Changes), func(c walk.Change) bool { return !moreThanComms(c) })
	where, why := t.New, takenByPM
	if len(work) == 0 {
		commit, path, what, err := unlikeReport(pass, t)
		if err != nil || what == "" {
			return err
		}
		where, why, work = commit, what, []walk.Change{{Path: path}}
	}
	if pass.Push.Config.Rights.AgentMerge && pass.Push.Principal == push.Agent && t.History == push.Undivided {
		unproved, err := verified(pass, t)
		if err != nil || unproved == "" {
			return err
		}
		if why == takenByPM {
			why = unproved
		}
	}
	for _, c := range work {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: where, Path: c.Path}, Ref: t.Ref, Rule: "rights/main",
			Message: fmt.Sprintf("on %s the %s may change Reports and Questions of COMMS.md only", branchName(t.Ref), pass.Push.Principal), Hint: why})
	}
	return nil
}

// judgeProjectMerge restricts the agent on a project branch without Ward's documents to work
// with a verdict.
func judgeProjectMerge(pass *Pass, t *walk.Tip) (err error) {
	why := takenByPM
	if pass.Push.Config.Rights.AgentMerge {
		if why, err = verified(pass, t); err != nil || why == "" {
			return err
		}
	}
	pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New}, Ref: t.Ref, Rule: "rights/main",
		Message: branchName(t.Ref) + " is moved by people, and by the agent where [rights] agent_merge is on and the work has a verdict", Hint: why})
	return nil
}

// maxCandidates bounds how many commits of one merge are searched for verdicts.
const maxCandidates = 1000

// verified looks for a commit of the merge whose verdict allows it; "" if there is one, else
// why the nearest one does not.
func verified(pass *Pass, t *walk.Tip) (why string, err error) {
	why = "it needs a verdict EXACT or CONVERGED on a commit of the merge, for the directive as main has it: claim it and wait"
	if t.Old == git.Zero || !t.Forward {
		return why, nil
	}
	found := false
	candidates, err := pass.Repo.RevList(fmt.Sprintf("--max-count=%d", maxCandidates), t.New, "^"+t.Old)
	if err != nil {
		return "", err
	}
	for _, commit := range candidates {
		verdicts, err := state.VerdictsOn(pass.Repo, commit)
		if err != nil {
			return "", err
		}
		if len(verdicts) == 0 {
			continue
		}
		reason, err := carries(pass, t, commit, newest(verdicts, pass.Push.Lease.Directive))
		if err != nil {
			return "", err
		}
		if reason == "" {
			reason, err = untried(pass, t, commit)
		}
		if err != nil {
			return "", err
		}
		if reason == "" {
			return newAtRoot(pass, t)
		}
		if !found {
			why, found = reason, true
		}
	}
	return why, nil
}

// newest is a commit's valid verdict: a later NONE cancels an EXACT. For a directive's worker
// it is the newest of that directive's units, because another may claim the same commit.
func newest(verdicts []loop.Verdict, directive string) loop.Verdict {
	for _, v := range slices.Backward(verdicts) {
		if id, err := uow.ParseID(v.Unit); err == nil && id.Directive == directive {
			return v
		}
	}
	return verdicts[len(verdicts)-1]
}

// newAtRoot names a new or differently typed name at main's root that needs the PM's
// acceptance; "" for none. Programs find what they run or obey by names at the root, which no
// list has completely. Many read a file of a name or everything in a directory of it (conf and
// conf/), so a changed type counts as new.
func newAtRoot(pass *Pass, t *walk.Tip) (why string, err error) {
	if pass.Push.Config.Rights.NewRoot != config.Ask {
		return "", nil
	}
	old, err := treeOf(pass, t.Old)
	if err != nil {
		return "", err
	}
	tree, err := treeOf(pass, t.New)
	if err != nil {
		return "", err
	}
	for _, change := range t.Changes {
		if change.Deleted() || loop.Free(change.Path, t.History == push.Project) {
			continue
		}
		name, _, _ := strings.Cut(change.Path, "/")
		was, there, err := pass.Repo.Lookup(old, name)
		if err != nil {
			return "", err
		}
		is, _, err := pass.Repo.Lookup(tree, name)
		if err != nil {
			return "", err
		}
		what := " is new at the root"
		if there && was.Mode.Kind() == is.Mode.Kind() {
			continue
		} else if there {
			what += " as a " + is.Mode.Kind()
		}
		return diag.Clean(name) + what + `, and the host admin's [rights] new_root = "ask" leaves that to the PM: git ward take`, nil
	}
	return "", nil
}

// untried says why a verified commit's program may not enter main yet, "" if it may: if the
// agent's program comes from the tree, a new one must have passed a probation, as the watcher
// reported to the host (BOOT-3). Its own SUCCESS does not count.
func untried(pass *Pass, t *walk.Tip, commit string) (why string, err error) {
	c, err := boot.Commands(pass.Push.Config.Commands()).OrWard(func() (bool, error) { return isWard(pass, t.Old) })
	if err != nil || !pass.Push.Config.Bootstrap.Probation || len(c.Run) == 0 {
		return "", err
	}
	wanted, err := program(pass, t, commit)
	if err != nil {
		return "", err
	}
	passed, err := pass.Repo.Refs(boot.PassedPrefix)
	if err != nil {
		return "", err
	}
	for _, other := range append(slices.Collect(maps.Values(passed)), t.Old) {
		if same, err := program(pass, t, other); err != nil || same == wanted {
			return "", err
		}
	}
	return "the program of " + diag.Short(commit) + " has passed no probation: the tool bootstrap starts it from its branch, which begins with one, or the PM merges", nil
}

// isWard reports whether a commit is of Ward's own source.
func isWard(pass *Pass, commit string) (bool, error) {
	tree, err := treeOf(pass, commit)
	for _, path := range boot.WardFiles {
		if err != nil {
			return false, err
		}
		var there bool
		if _, there, err = pass.Repo.Lookup(tree, path); !there {
			return false, err
		}
	}
	return true, err
}

// program is the runnable part of a commit.
func program(pass *Pass, t *walk.Tip, commit string) (string, error) {
	tree, err := treeOf(pass, commit)
	if err != nil {
		return "", err
	}
	entries, err := pass.Repo.Tree(tree)
	if err != nil {
		return "", err
	}
	return boot.Program(func(yield func(string, error) bool) {
		for _, e := range entries {
			if !yield(fmt.Sprintf("%o %s\t%s", e.Mode, e.ID, e.Name), nil) {
				return
			}
		}
	}, t.History == push.Project)
}

// carries says why a verdict on commit does not allow the merge, "" if it does.
func carries(pass *Pass, t *walk.Tip, commit string, v loop.Verdict) (why string, err error) {
	id, err := uow.ParseID(v.Unit)
	if err != nil {
		return "the verdict names no unit", nil
	}
	if own := pass.Push.Lease.Directive; own != "" && id.Directive != own {
		return "the verdict on " + diag.Short(commit) + " is of " + id.Directive + ", and the worker has the lease of " + own, nil
	}
	if held, err := pass.Push.heldByWorker(diag.Pos{}, t.Ref, id.Directive); err != nil || held != nil {
		return "a worker has the lease of " + id.Directive + ", and merges its work itself", err
	}
	control := t.Old
	if t.History == push.Project {
		control = pass.Repo.Main(push.Control)
	}
	main, err := state.ReadComms(pass.Repo, control)
	if err != nil {
		return "", err
	}
	d := main.Directive(id.Directive)
	if d == nil || !v.Proves(commit, v.Unit, d.Hash()) {
		return "the verdict on " + diag.Short(commit) + " is " + v.Verdict + ", or for another commit or another text of " + id.Directive, nil
	}
	against := v.Told(d.Options.Included).Against()
	switch {
	case len(v.Deviations) > 0: // judged was main's version of these; merged would be another
		return fmt.Sprintf("%s decides and was changed; the verdict on %s is for main's version of it: take it back and claim anew, or the PM merges",
			diag.Clean(v.Deviations[0]), diag.Short(commit)), nil
	case len(v.LeftWords()) > 0: // the deciding run did not have it
		return fmt.Sprintf("%s is no work by the directive, and the run that decided on %s had none of it: the PM merges, or takes it in (git ward include %s)",
			diag.Clean(v.LeftWords()[0]), diag.Short(commit), id.Directive), nil
	case len(against) > 0: // it says EXACT, and in the same breath what to look at first
		return fmt.Sprintf("the verdict on %s names what speaks against the work (%s): the PM reads that, and merges (git ward review %s)",
			diag.Short(commit), diag.Clean(against[0].Words()), id.Directive), nil
	case v.Fence == loop.FenceNone && !pass.Push.Config.Rights.UnfencedMerge:
		return "the verdict on " + diag.Short(commit) + " was had without a fence, and [rights] unfenced_merge is off: the PM merges", nil
	}
	if why, err = workable(pass, id, d.Hash()); err != nil || why != "" {
		return why, err
	}
	base, err := pass.Repo.MergeBase(t.Old, commit)
	if err != nil {
		return "", err
	}
	if base == "" {
		return "the verified commit " + diag.Short(commit) + " shares no history with main: the PM merges", nil
	}
	// What main did since the work began, and what followed the verdict.
	for _, pair := range [][2]string{{base, t.Old}, {commit, t.New}} {
		path, err := firstNotFree(pass, t.History, pair[0], pair[1])
		if err != nil {
			return "", err
		}
		if path != "" {
			return fmt.Sprintf("%s changed beside the verified commit %s: merge main, claim the merge, wait for its verdict", diag.Clean(path), diag.Short(commit)), nil
		}
	}
	for _, c := range t.Changes {
		if strings.HasPrefix(c.Path, "protocols/") && t.History.Documents() {
			return diag.Clean(c.Path) + " is the PM's to merge: push it to agent/<name>-lessons", nil
		}
	}
	return "", nil
}

// workable says why a unit may not merge now, "" if it may: it is ACTIVE on this text of the
// directive, and no pulse is due (UOW-3).
func workable(pass *Pass, id uow.ID, hash string) (why string, err error) {
	last, err := lastRecord(pass, id)
	switch {
	case err != nil:
		return "", err
	case last == nil:
		return "there is no unit " + id.String(), nil
	case last.State != uow.Active || last.DirectiveHash != hash:
		return fmt.Sprintf("%s is %s: only an ACTIVE unit merges, on the directive as it stands", id, last.State), nil
	case last.PulseDue():
		return "a sign of the PM is due: git ward uow " + uow.Heartbeat.Typed() + " " + id.String(), nil
	}
	return "", nil
}

// firstNotFree is the first path that differs between two commits and is restricted; "" for
// none. With a separate control branch nothing of the project's is free.
func firstNotFree(pass *Pass, h push.History, from, to string) (path string, err error) {
	a, err := pass.Repo.Commit(from)
	if err != nil {
		return "", err
	}
	b, err := pass.Repo.Commit(to)
	if err != nil {
		return "", err
	}
	return firstChange(pass, a.Tree, b.Tree, func(c walk.Change) bool { return !loop.Free(c.Path, !h.Documents()) })
}
