package install

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/attest"
	"git-ward/protocols/lesson"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
)

// kinds are the refs that Ward makes, and what is lost with them.
var kinds = []struct{ prefix, what string }{
	{state.AuditRef, "the audit: who pushed what, and what was refused"},
	{"refs/ward/uow/", "the journals of units of work: their budgets, claims and states"},
	{"refs/ward/record/", "the records of units of work: evidence, plans, learnings, post-mortems"},
	{"refs/ward/", "what else the host noted"},
	{state.AuditNotes, "the audit's notes on commits"},
	{lesson.Ref, "the lessons' notes on commits"},
	{loop.VerdictsRef, "the verdicts on claimed commits"},
	{attest.Ref, "the signatures of verdicts"},
}

// refs plans the refs' removal: without Purge they are only listed. Refs that are not proved
// to be Ward's stay; all of them, if nothing proves that Ward was there.
func (r *remover) refs(ctx context.Context) error {
	all, err := r.installer.refs(ctx)
	if err != nil {
		return err
	}
	proof := r.prove(ctx, all)
	if !proof.chain && !r.installed() {
		return nil
	}
	var updates []git.RefUpdate
	var lost []string
	take := func(ref string) {
		updates = append(updates, git.RefUpdate{Ref: ref, Old: all[ref], New: git.Zero})
		delete(all, ref)
	}
	for _, kind := range kinds {
		n := 0
		for _, ref := range slices.Sorted(maps.Keys(all)) {
			if (ref == kind.prefix || strings.HasPrefix(ref, kind.prefix) && strings.HasSuffix(kind.prefix, "/")) && r.proved(ctx, proof, ref, all[ref]) {
				take(ref)
				n++
			}
		}
		if n > 0 {
			lost = append(lost, fmt.Sprintf("%s (%s)", kind.what, diag.Count(n, "ref")))
		}
	}
	if control := r.branches.Ref(); r.branches.Split() && all[control] != "" && r.ours(ctx, control) {
		take(control)
		lost = append(lost, fmt.Sprintf("the branch %s: COMMS.md with its directives and reports, protocols, lessons", strings.TrimPrefix(control, heads)))
	}
	branches, err := r.agentBranches(ctx, all, proof)
	if err != nil {
		return err
	}
	for _, b := range branches {
		take(b.ref)
		if b.unmerged > 0 {
			lost = append(lost, fmt.Sprintf("the branch %s: %s on no branch that stays", strings.TrimPrefix(b.ref, heads), diag.Count(b.unmerged, "commit")))
		}
	}
	if unproved := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(ref string) bool { return !inPlace(ref) }); len(unproved) > 0 {
		r.plan.Stays = append(r.plan.Stays, fmt.Sprintf("what no record proves to be Ward's: %s; git --git-dir=%s update-ref -d REF deletes one", diag.Clean(strings.Join(unproved, ", ")), diag.Word(r.Dir)))
	}
	if !r.branches.Split() && all[r.branches.Ref()] != "" {
		r.plan.Stays = append(r.plan.Stays, fmt.Sprintf("Ward's documents on %s, as files of its commits: git rm COMMS.md SYSTEM.md ... where they are not wanted", r.branches.Branch))
	}
	if len(updates) == 0 {
		return nil
	}
	if !r.purge {
		r.plan.Stays = append(r.plan.Stays, fmt.Sprintf("%s of Ward's; --purge deletes them: %s", diag.Count(len(updates), "ref"), strings.Join(lost, "; ")))
		return nil
	}
	r.plan.Lost = append(r.plan.Lost, lost...)
	r.step(change("delete", "%s of Ward's", diag.Count(len(updates), "ref")), func() error {
		if err := r.repo.UpdateRefs(ctx, "ward: remove", updates...); err != nil {
			return err
		}
		for _, dir := range []string{"logs/refs/ward", "logs/refs/notes"} { // git leaves these, empty
			if err := removeEmpty(filepath.Join(r.Dir, dir)); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// agentBranch is an agent's branch, and how many of its commits are on no remaining branch.
type agentBranch struct {
	ref      string
	unmerged int
}

// agentBranches are those that the agent's pushes made, and nobody moved since.
func (r *remover) agentBranches(ctx context.Context, all map[string]string, p proof) (list []agentBranch, err error) {
	var stay []string // arguments that leave out what goes
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		if push.IsAgentBranch(ref) && r.proved(ctx, p, ref, all[ref]) {
			list, stay = append(list, agentBranch{ref: ref}), append(stay, "--exclude="+ref)
		}
	}
	stay = append(stay, "--glob=refs/heads")
	for i := range list {
		out, err := r.repo.Output(ctx, slices.Concat([]string{"rev-list", "--count", list[i].ref, "--not"}, stay)...)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Sscan(string(out), &list[i].unmerged); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ownBranches are the project's branches whose names will be the agent's.
func ownBranches(refs map[string]string, p proof) (list []string) {
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if push.IsAgentBranch(ref) && p.made[ref] != refs[ref] {
			list = append(list, ref)
		}
	}
	return list
}
