package checks

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// newEvidenceCheck makes the check of one push.
func newEvidenceCheck() Check {
	r := &recordEvidence{}
	return Check{
		Name: "evidence",
		Doc: "The loop's evidence is on records and nowhere else: a branch may have files of such names, which prove nothing. It has its form, what an iteration left does not change afterwards, and every hash in a manifest is that " +
			"of the file it names, the manifest before among them (LOOP-7). What an iteration made is named as the work has it. Only what a push changes is read.",
		Rules: []string{"evidence/schema", "evidence/frozen", "evidence/verdict", "evidence/hash"},
		Path:  r.path, Whole: r.artifacts,
		Record: r.judge,
	}
}

// judgeEvidence judges one file that a record changes, by its name.
func judgeEvidence(pass *Pass, t *walk.Tip, c walk.Change, at loop.EvidencePath) error {
	report := func(rule, hint, format string, args ...any) {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: c.Path}, Ref: t.Ref, Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	if pass.Push.Principal == push.Agent && at.Frozen() && c.Old.ID != "" && t.Forward {
		report("evidence/frozen", "git checkout "+diag.Short(t.Base)+" -- "+diag.Clean(c.Path), "what an iteration left does not change afterwards")
		return nil
	}
	if at.File == "" || c.Deleted() {
		return nil
	}
	if c.New.Mode != git.ModeFile {
		report("evidence/schema", "commit it as a regular file", "evidence is a regular file")
		return nil
	}
	data, err := pass.Repo.Regular(c.New, loop.MaxEvidence)
	if large, ok := errors.AsType[*git.TooLarge](err); ok {
		report("evidence/schema", "shorten it", "the file has %d bytes, more than %d", large.Object.Size, large.Limit)
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range at.Check(c.Path, data) {
		d.Commit, d.Ref = t.New, t.Ref
		pass.Report(d)
	}
	if pass.Push.Principal != push.Agent || !pass.Push.Received {
		return nil // a clone need not have the host's notes
	}
	if s, ok := at.Success(data); ok {
		granted, err := granted(pass, at, s)
		if err == nil && !granted {
			report("evidence/verdict", "claim the work and wait for the verdict: git notes --ref=certificates show", "it claims %s, and the host has no such verdict for %s", diag.Clean(s.Words()), diag.Clean(s.Unit))
		}
		return err
	}
	return nil
}

// granted reports whether the host's verdicts support what a certificate claims, or the verdict
// on its unit's last claim what a halting report does: nobody certifies their own work (LOOP-5).
func granted(pass *Pass, at loop.EvidencePath, s loop.Success) (bool, error) {
	id, err := uow.ParseID(s.Unit)
	if err != nil || id.Directive != at.Directive {
		return false, nil
	}
	if at.File == loop.ReportFile {
		proof, err := state.UnitProof(storedUnits{pass.Repo}, id, "")
		return proof != nil && proof.Grants(s), err
	}
	if !git.IsID(s.Commit) {
		return false, nil
	}
	verdicts, err := state.VerdictsOn(pass.Repo, s.Commit)
	return slices.ContainsFunc(verdicts, func(v loop.Verdict) bool { return v.Grants(s) }), err
}

// artifacts reads a manifest in a tree; ok is false if there is no readable one.
func artifacts(pass *Pass, tree, path string) (a loop.Artifacts, ok bool, err error) {
	e, ok, err := pass.Repo.Lookup(tree, path)
	if err != nil || !ok {
		return a, false, err
	}
	data, err := pass.Repo.Regular(e, loop.MaxEvidence)
	if _, ok := errors.AsType[*git.TooLarge](err); data == nil || ok {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	return a, json.Unmarshal(data, &a, json.RejectUnknownMembers(true)) == nil, nil
}

// matches compares an entry with the tree; "" if they agree.
func matches(pass *Pass, tree *treeFiles, a loop.Artifact) (message string, err error) {
	e, ok, err := tree.entry(a.Path)
	if err != nil {
		return "", err
	}
	if !ok || e.Mode != git.ModeFile && e.Mode != git.ModeExec {
		return diag.Clean(a.Path) + " is not in the tree", nil
	}
	data, err := pass.Repo.Regular(e, pass.Push.Config.Limits.BlobSize)
	if _, ok := errors.AsType[*git.TooLarge](err); ok {
		return diag.Clean(a.Path) + " is too large to be evidence", nil
	}
	if err == nil && loop.Digest(data) != a.SHA256 {
		message = diag.Clean(a.Path) + " has another hash than the manifest says"
	}
	return message, err
}
