package checks

import (
	"errors"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// claimed checks that a claim is kept, so that the verifier finds it later: the claimed commit
// is on the directive's branch, and a commit of the record has it as second parent (REC-4).
func (j *journal) claimed(at string, next *uow.Record) error {
	commit := next.Claim.Commit
	object, err := j.pass.Repo.Object(commit)
	if errors.Is(err, git.ErrMissing) || err == nil && object.Kind != "commit" {
		j.report(at, "uow/claim", "push the commit first, or in the same push", "%s is not a commit of this repository", diag.Short(commit))
		return nil
	}
	if err != nil {
		return err
	}
	if ok, err := j.onBranch(at, commit); err != nil || !ok {
		return err
	}
	return j.onRecord(at, next.Claim)
}

// onBranch reports whether the directive's branch will contain a commit after the push.
func (j *journal) onBranch(at, commit string) (bool, error) {
	branch := "agent/" + j.id.Directive
	tip, err := j.pass.after("refs/heads/" + branch)
	if err != nil {
		return false, err
	}
	lost := tip == git.Zero
	if !lost && tip != commit {
		ids, err := j.pass.Repo.RevList("--max-count=1", commit, "^"+tip)
		if err != nil {
			return false, err
		}
		lost = len(ids) > 0
	}
	if lost {
		j.report(at, "uow/claim", "push the branch in the same push: git push --atomic", "%s does not hold the claimed commit %s", branch, diag.Short(commit))
	}
	return !lost, nil
}

// onRecord checks that a claim names a commit of the unit's record whose second parent is the
// claimed one.
func (j *journal) onRecord(at string, claim *uow.Claim) error {
	ref := record.Ref(j.id)
	tip, err := j.pass.after(ref)
	if err != nil {
		return err
	}
	on, err := j.onChain(tip, claim.Record)
	if err != nil {
		return err
	}
	if !on {
		j.report(at, "uow/claim", "push the record in the same push: git push --atomic", "%s does not have the commit %s that the claim names", ref, diag.Short(claim.Record))
		return nil
	}
	c, err := j.pass.Repo.Commit(claim.Record)
	if err != nil {
		return err
	}
	if record.Work(c.Parents) != claim.Commit {
		j.report(at, "uow/claim", "make a commit of the record with the claimed commit as its second parent", "the record's commit %s does not speak of the claimed commit %s",
			diag.Short(claim.Record), diag.Short(claim.Commit))
	}
	return nil
}

// maxClaimed bounds how far behind its record's tip a claim is searched, because it is made
// together with the commit that it names.
const maxClaimed = 1000

// onChain reports whether a commit is a tip or its first-parent ancestor.
func (j *journal) onChain(tip, commit string) (bool, error) {
	for range maxClaimed {
		if tip == commit || tip == "" || tip == git.Zero {
			break
		}
		var err error
		if tip, err = j.pass.Repo.Parent(tip); err != nil {
			return false, err
		}
	}
	return tip == commit, nil
}
