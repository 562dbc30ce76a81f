package checks

import (
	"fmt"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

var commsCheck = Check{
	Name: "comms",
	Doc: "COMMS.md follows its grammar, ids are never reused, and the agent only appends to Reports and Questions or " +
		"prunes whole reports with a trailer (COMMS-1 to COMMS-4).",
	Tip: func(r *Run, t *Tip) error {
		d, err := r.document(t, comms.Path, comms.MaxBytes)
		if err != nil {
			return err
		}
		if d != nil {
			if d.deleted {
				return r.gone(d, "comms/missing")
			}
			after, found := comms.Parse(d.new)
			r.reportAll(d, found)
			if push.IsMain(t.Ref) && !diag.HasErrors(found) {
				var retired comms.Set
				if r.Retired != nil {
					if retired, err = r.Retired(); err != nil {
						return err
					}
				}
				r.reportAll(d, comms.CheckUpdate(d.old, d.new, retired))
				r.result.Retired = removed(d.old, after)
				for _, id := range r.result.Retired { // what the audit cannot hold does not enter
					if err := retired.Add(id); err != nil {
						r.reportAt(d, 0, "comms/retired", "with the directives that this takes away, "+err.Error(),
							"leave them in: ids that are used and gone are kept for ever, and take least room one after the other")
						break
					}
				}
			}
		}
		if !r.Principal.Fenced() || t.Base == "" || (d == nil && !t.Merges) {
			return nil
		}
		if push.IsMain(t.Ref) {
			return r.agentComms(t, d)
		}
		return r.branchComms(t)
	},
}

// removed lists the ids of directives that stood in old and are gone.
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

// agentComms holds the agent's change of main's COMMS.md to COMMS-4.
func (r *Run) agentComms(t *Tip, d *document) error {
	if d == nil {
		return nil
	}
	if r.Principal == push.Watcher {
		r.reportAll(d, comms.CheckAgentChange(d.old, d.new, nil))
		before, _ := comms.Parse(d.old)
		if after, _ := comms.Parse(d.new); len(after.Questions) != len(before.Questions) {
			r.reportAt(d, 0, "comms/watcher", "the watcher appends Reports only (HOOK-4b)", "take the Question out")
		}
		return r.reported(t, d)
	}
	pruned, err := r.pruned(t)
	if err != nil {
		return err
	}
	r.reportAll(d, comms.CheckAgentChange(d.old, d.new, pruned))
	return r.reported(t, d)
}

// reported holds a new report that a directive is met to the host's verdict:
// nobody certifies himself (LOOP-5).
func (r *Run) reported(t *Tip, d *document) error {
	before, _ := comms.Parse(d.old)
	after, _ := comms.Parse(d.new)
	known := map[int]bool{}
	for _, report := range before.Reports {
		known[report.ID] = true
	}
	for _, report := range after.Reports {
		if known[report.ID] || report.Status != comms.ExitConverged {
			continue
		}
		ok, err := r.converged(report.Directive, report.DirectiveHash())
		if err != nil {
			return err
		}
		if !ok {
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: comms.Path, Line: report.Line, Col: 1}, Ref: t.Ref, Rule: "comms/agent-verdict",
				Message: fmt.Sprintf("%s says %s, and the host has no verdict EXACT or CONVERGED for that text of %s", report.Name(), report.Status, diag.Clean(report.Directive)),
				Hint:    "claim the work and wait for the verdict; DONE is for work without a loop"})
		}
	}
	return nil
}

// branchComms holds COMMS.md at an agent's branch tip to COMMS-4: Directives
// equal those of a commit of main that is not older than the merge base, and
// what the merge base's Reports and Questions held is still there.
func (r *Run) branchComms(t *Tip) error {
	tip, err := r.commsOf(t.Commit.Tree)
	if err != nil {
		return err
	}
	same, err := r.someMain(t.New, func(tree string) (bool, error) {
		data, err := r.commsOf(tree)
		return comms.DirectivesEqual(data, tip), err
	})
	if err != nil {
		return err
	}
	pos := diag.Pos{Commit: t.New, Path: comms.Path}
	if !same {
		r.Report(diag.Diagnostic{Pos: pos, Ref: t.Ref, Rule: "comms/agent-directives",
			Message: "Directives are not those of main", Hint: "take main's version: git checkout origin/main -- COMMS.md"})
		return nil
	}
	mergeBase := t.Base
	if t.Merges || t.Base == t.Old {
		if mergeBase, err = r.mergeBase(t.New); err != nil {
			return err
		}
	}
	base, err := r.commit(mergeBase)
	if err != nil {
		return err
	}
	old, err := r.commsOf(base.Tree)
	if err != nil {
		return err
	}
	pruned, err := r.pruned(t)
	if err != nil {
		return err
	}
	for _, found := range comms.CheckAgentChange(old, tip, pruned) {
		if found.Rule != "comms/agent-directives" { // judged above, against all of main
			found.Pos.Commit, found.Pos.Path, found.Ref = t.New, comms.Path, t.Ref
			r.Report(found)
		}
	}
	return nil
}

// commsOf reads COMMS.md in a tree, nil when it is not a file of allowed size.
func (r *Run) commsOf(tree string) ([]byte, error) {
	e, ok, err := r.trees.lookup(tree, comms.Path)
	if err != nil || !ok || e.Mode != git.ModeFile {
		return nil, err
	}
	_, data, err := r.batch.Read(e.ID, r.Config.Limits.BlobSize)
	return data, err
}

// pruned collects the Comms-Prune trailers of the commits between a tip and its
// base.
func (r *Run) pruned(t *Tip) ([]comms.Range, error) {
	var all []comms.Range
	id, c := t.New, t.Commit
	for range r.Config.Limits.Commits {
		ranges, err := comms.ParsePrune(c.Message)
		if err != nil {
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: id}, Ref: t.Ref, Rule: "comms/agent-prune",
				Message: fmt.Sprintf("the trailer Comms-Prune is not understood: %v", err), Hint: "write Comms-Prune: R-1..R-40"})
		}
		all = append(all, ranges...)
		if id == t.Base || len(c.Parents) == 0 {
			break
		}
		if id = c.Parents[0]; id == t.Base {
			break
		}
		if c, err = r.commit(id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r *Run) reportAll(d *document, found []diag.Diagnostic) {
	for _, f := range d.place(found) {
		r.Report(f)
	}
}
