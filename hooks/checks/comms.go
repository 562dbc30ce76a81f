package checks

import (
	"bytes"
	"fmt"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/state"
)

var commsCheck = Check{
	Name: "comms",
	Doc: "COMMS.md follows its grammar, ids are never reused, and the agent only appends to Reports and Questions or " +
		"prunes whole reports with a trailer, within its part of the file (COMMS-1 to COMMS-5).",
	Rules: []string{"comms/*", "comms/missing", "comms/retired", "comms/watcher", "comms/agent-directives", "comms/agent-prune", "comms/agent-verdict"},
	Tip: func(pass *Pass, t *walk.Tip) error {
		d, err := readDocument(pass, t, comms.Path, comms.MaxBytes)
		if err != nil {
			return err
		}
		if d != nil && d.deleted {
			d.gone("comms/missing")
			return nil
		}
		if d != nil {
			if err := judgeComms(pass, t, d); err != nil {
				return err
			}
		}
		if !hasDocuments(t) || !pass.Push.Principal.Fenced() || t.Base == "" {
			return nil
		}
		if pass.Push.isControl(t.Ref) {
			return agentComms(pass, t, d)
		}
		if d == nil && !t.Merges {
			return nil
		}
		return branchComms(pass, t)
	},
}

// judgeComms judges a changed COMMS.md, whoever changed it: its form and, on main, its ids.
func judgeComms(pass *Pass, t *walk.Tip, d *document) (err error) {
	after, found := comms.Parse(d.new)
	d.reportAll(found)
	if !pass.Push.isControl(t.Ref) || diag.HasErrors(found) {
		return nil
	}
	var retired comms.Set
	if pass.Push.Retired != nil {
		if retired, err = pass.Push.Retired(); err != nil {
			return err
		}
	}
	d.reportAll(comms.CheckUpdate(d.old, d.new, retired))
	if !pass.Push.Principal.Fenced() {
		d.reportAll(comms.CheckSpare(d.old, d.new))
	}
	pass.result.Retired = removed(d.old, after)
	for _, id := range pass.result.Retired { // the audit could not store it
		if err := retired.Add(id); err != nil {
			d.report(0, "comms/retired", "with the directives that this takes away, "+err.Error(),
				"leave them in: ids that are used and gone are kept for ever, and take least room one after the other")
			break
		}
	}
	return nil
}

// removed lists directive ids that are in old but no longer there.
func removed(old []byte, after *comms.Document) []int {
	listed := map[int]bool{}
	for _, d := range after.Directives {
		listed[d.ID] = true
	}
	before, _ := comms.Parse(old)
	var ids []int
	for _, d := range before.Directives {
		if !listed[d.ID] {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// agentComms checks the agent's change of main's COMMS.md by COMMS-4, also in each commit that
// enters, because what a later commit reverts stays in main's history.
func agentComms(pass *Pass, t *walk.Tip, d *document) error {
	var ranges []comms.Range
	if pass.Push.Principal == push.Agent {
		var err error
		if ranges, err = pruned(pass, t); err != nil {
			return err
		}
	}
	if d != nil {
		if err := appended(d, ranges); err != nil {
			return err
		}
	}
	return eachComms(pass, t, ranges)
}

// appended checks one change of COMMS.md for what its principal may append and remove.
func appended(d *document, pruned []comms.Range) error {
	d.reportAll(comms.CheckAgentChange(d.old, d.new, pruned))
	if d.pass.Push.Principal == push.Watcher {
		d.reportAll(comms.CheckRoom(d.old, d.new, comms.MaxWatched))
		before, _ := comms.Parse(d.old)
		if after, _ := comms.Parse(d.new); len(after.Questions) != len(before.Questions) {
			d.report(0, "comms/watcher", "the watcher appends Reports only (HOOK-4b)", "take the Question out")
		}
		return reported(d.pass, d.tip, d)
	}
	d.reportAll(comms.CheckAgentStatus(d.old, d.new))
	d.reportAll(comms.CheckRoom(d.old, d.new, comms.MaxAnswers))
	d.reportAll(comms.CheckShares(d.old, d.new, d.pass.Push.Lease.Directive))
	if err := leasedEntries(d.pass, d.tip, d.old, d.new); err != nil {
		return err
	}
	return reported(d.pass, d.tip, d)
}

// maxReported bounds the commits of one push whose COMMS.md is judged.
const maxReported = 100

// eachComms judges COMMS.md in each commit that enters main, if the push has several.
func eachComms(pass *Pass, t *walk.Tip, pruned []comms.Range) error {
	if t.Old == git.Zero || !t.Forward || len(t.Commit.Parents) == 1 && t.Commit.Parents[0] == t.Old {
		return nil
	}
	ids, err := pass.Repo.RevList(t.New, "^"+t.Old)
	if err != nil {
		return err
	}
	judged := 0
	for _, id := range ids {
		d, err := commsIn(pass, t, id, pruned)
		if err != nil {
			return err
		}
		if d == nil {
			continue
		}
		if judged++; judged > maxReported {
			return &walk.Exceeded{Path: comms.Path, Message: fmt.Sprintf("more than %d commits of one push change it", maxReported)}
		}
		_, found := comms.Parse(d.new)
		d.reportAll(found)
		if err := appended(d, pruned); err != nil {
			return err
		}
	}
	return nil
}

// commsIn is a commit's change of COMMS.md, nil if a parent has the same. A merge may append
// to any parent's.
func commsIn(pass *Pass, t *walk.Tip, id string, pruned []comms.Range) (*document, error) {
	c, err := pass.Repo.Commit(id)
	if err != nil {
		return nil, err
	}
	in := *t
	in.New, in.Commit = id, c
	d := &document{pass: pass, tip: &in, path: comms.Path}
	if d.new, err = commsOf(pass, c.Tree); err != nil {
		return nil, err
	}
	sound := false
	for _, parent := range c.Parents {
		tree, err := treeOf(pass, parent)
		if err != nil {
			return nil, err
		}
		old, err := commsOf(pass, tree)
		if err != nil || bytes.Equal(old, d.new) {
			return nil, err
		}
		if !sound {
			d.old, sound = old, !diag.HasErrors(comms.CheckAgentChange(old, d.new, pruned))
		}
	}
	return d, nil
}

// reported checks a new report that claims success against the host's verdict: nobody
// certifies their own work (LOOP-5).
func reported(pass *Pass, t *walk.Tip, d *document) error {
	before, _ := comms.Parse(d.old)
	after, _ := comms.Parse(d.new)
	known := map[int]bool{}
	for _, report := range before.Reports {
		known[report.ID] = true
	}
	for _, report := range after.Reports {
		if known[report.ID] {
			continue
		}
		if err := certified(pass, diag.Pos{Commit: t.New, Path: comms.Path, Line: report.Line, Col: 1}, t.Ref, report.Name(), report); err != nil {
			return err
		}
	}
	return nil
}

// certified checks one report, under a name of its own, against the host's verdict.
func certified(pass *Pass, pos diag.Pos, ref, what string, report comms.Report) error {
	if report.Status != comms.ExitConverged {
		return nil
	}
	ok, err := state.Converged(storedUnits{pass.Repo}, report.Directive, report.DirectiveHash())
	if err == nil && !ok {
		pass.Report(diag.Diagnostic{Pos: pos, Ref: ref, Rule: "comms/agent-verdict",
			Message: fmt.Sprintf("%s says %s, and the host has no verdict EXACT or CONVERGED for that text of %s", what, report.Status, diag.Clean(report.Directive)),
			Hint:    "claim the work and wait for the verdict; DONE is for work without a loop"})
	}
	return err
}

// branchComms checks COMMS.md at an agent's branch tip by COMMS-4: Directives equal those of a
// commit of main not older than the merge base, and the merge base's Reports and Questions are
// still there.
func branchComms(pass *Pass, t *walk.Tip) error {
	tip, err := commsOf(pass, t.Commit.Tree)
	if err != nil {
		return err
	}
	same, err := likeMain(pass, t.History, t.New, func(tree string) (bool, error) {
		data, err := commsOf(pass, tree)
		return comms.DirectivesEqual(data, tip), err
	})
	if err != nil {
		return err
	}
	pos := diag.Pos{Commit: t.New, Path: comms.Path}
	if !same {
		pass.Report(diag.Diagnostic{Pos: pos, Ref: t.Ref, Rule: "comms/agent-directives",
			Message: "Directives are not those of " + mainOf(pass, t.History), Hint: mainVersion(pass, t.History, comms.Path)})
		return nil
	}
	mergeBase := t.Base
	if t.Merges || t.Base == t.Old {
		if mergeBase, err = pass.Repo.MergeBase(t.New, pass.Repo.Main(t.History)); err != nil {
			return err
		}
	}
	base, err := pass.Repo.Commit(mergeBase)
	if err != nil {
		return err
	}
	old, err := commsOf(pass, base.Tree)
	if err != nil {
		return err
	}
	if err := leasedEntries(pass, t, old, tip); err != nil {
		return err
	}
	pruned, err := pruned(pass, t)
	if err != nil {
		return err
	}
	for _, found := range append(comms.CheckAgentChange(old, tip, pruned), comms.CheckAgentStatus(old, tip)...) {
		if found.Rule != "comms/agent-directives" { // judged above, against all of main
			found.Pos.Commit, found.Pos.Path, found.Ref = t.New, comms.Path, t.Ref
			pass.Report(found)
		}
	}
	return nil
}

// commsOf reads COMMS.md in a tree, nil if it is no regular file of allowed size.
func commsOf(pass *Pass, tree string) ([]byte, error) {
	e, ok, err := pass.Repo.Lookup(tree, comms.Path)
	if err != nil || !ok || e.Mode != git.ModeFile {
		return nil, err
	}
	return pass.Repo.Blob(e.ID, pass.Push.Config.Limits.BlobSize)
}

// pruned collects the Comms-Prune trailers of the commits between a tip and its
// base.
func pruned(pass *Pass, t *walk.Tip) ([]comms.Range, error) {
	var all []comms.Range
	id, c := t.New, t.Commit
	for range pass.Push.Config.Limits.Commits {
		ranges, err := comms.ParsePrune(c.Message)
		if err != nil {
			pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: id}, Ref: t.Ref, Rule: "comms/agent-prune",
				Message: fmt.Sprintf("the trailer Comms-Prune is not understood: %v", err), Hint: "write Comms-Prune: R-1..R-40"})
		}
		all = append(all, ranges...)
		if id == t.Base || len(c.Parents) == 0 {
			break
		}
		if id = c.Parents[0]; id == t.Base {
			break
		}
		if c, err = pass.Repo.Commit(id); err != nil {
			return nil, err
		}
	}
	return all, nil
}
