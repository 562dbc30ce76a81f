package checks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
		Doc: "The loop's evidence has its form, what an iteration left does not change afterwards, and every hash in a manifest is that " +
			"of the file it names, the manifest before among them (LOOP-7). What an iteration made is named as the work has it. Only what a push changes is read.",
		Rules: []string{"evidence/schema", "evidence/frozen", "evidence/verdict", "evidence/hash"},
		Path:  r.path, Whole: r.artifacts,
		Tip: judgeBranchEvidence, Record: r.judge,
	}
}

// judgeBranchEvidence judges the evidence that a branch changes, which is of the first
// layout.
func judgeBranchEvidence(pass *Pass, t *walk.Tip) error {
	if !hasDocuments(t) {
		return nil
	}
	changed := map[string]bool{} // directives whose evidence changed
	mains := mainTrees{pass: pass, tip: t}
	for _, c := range t.Changes {
		at, ok := loop.ParseEvidencePath(c.Path)
		if !ok {
			continue
		}
		if same, err := mains.have(c.Path, c.New); err != nil {
			return err
		} else if same { // the PM took it, or took it off
			continue
		}
		changed[at.Directive] = true
		if err := judgeEvidence(pass, t, c, at); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		return nil
	}
	touched := make(map[string]bool, len(t.Changes))
	for _, c := range t.Changes {
		touched[c.Path] = true
	}
	tree := &treeFiles{pass: pass, tree: t.Commit.Tree} // many paths of a few directories
	for directive := range changed {
		path := loop.Dir(directive) + "/" + loop.ManifestFile
		manifest, _, err := tree.entry(path)
		if err != nil {
			return err
		}
		if same, err := mains.have(path, manifest); err != nil {
			return err
		} else if same {
			continue
		}
		if err := judgeManifest(pass, t, directive, tree, touched); err != nil {
			return err
		}
	}
	return nil
}

// mainTrees are the trees of main at its tip and at the merge base with a tip of the agent's.
type mainTrees struct {
	pass  *Pass
	tip   *walk.Tip
	trees []string // nil before they are read
}

// have reports whether main has an entry at a path as it is, or has none as it is not there. What
// main has was judged, and is nobody's to hold against the agent.
func (m *mainTrees) have(path string, e git.Entry) (bool, error) {
	if m.pass.Push.Principal != push.Agent || m.pass.Push.isMain(m.tip.Ref) {
		return false, nil
	}
	if m.trees == nil {
		main := m.pass.Repo.Main(m.tip.History)
		base, err := m.pass.Repo.MergeBase(m.tip.New, main)
		if err != nil {
			return false, err
		}
		m.trees = []string{}
		for _, commit := range []string{main, base} {
			if commit == "" {
				continue
			}
			tree, err := treeOf(m.pass, commit)
			if err != nil {
				return false, err
			}
			m.trees = append(m.trees, tree)
		}
	}
	for _, tree := range m.trees {
		at, _, err := m.pass.Repo.Lookup(tree, path)
		if err != nil || at.ID == e.ID && at.Mode == e.Mode {
			return err == nil, err
		}
	}
	return false, nil
}

// judgeEvidence judges one changed file by its name.
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
	var large *git.TooLarge
	if errors.As(err, &large) {
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
		granted, err := granted(pass, at.Directive, s)
		if err == nil && !granted {
			report("evidence/verdict", "claim the work and wait for the verdict: git notes --ref=certificates show", "it claims success, and the host has no such verdict for %s", diag.Clean(s.Unit))
		}
		return err
	}
	return nil
}

// granted reports whether the host's verdicts bear out what a certificate or a
// halting report claims: nobody certifies himself (LOOP-5).
func granted(pass *Pass, directive string, s loop.Success) (bool, error) {
	id, err := uow.ParseID(s.Unit)
	if err != nil || id.Directive != directive {
		return false, nil
	}
	if s.Commit == "" {
		return state.UnitConverged(storedUnits{pass.Repo}, id, "")
	}
	if !git.IsID(s.Commit) {
		return false, nil
	}
	verdicts, err := state.VerdictsOn(pass.Repo, s.Commit)
	return slices.ContainsFunc(verdicts, func(v loop.Verdict) bool { return v.Grants(s) }), err
}

// judgeManifest compares a directive's manifest with the tree: entries that are new,
// and entries whose file this push changes. An entry about code counts only when it
// is new, because code goes on changing.
func judgeManifest(pass *Pass, t *walk.Tip, directive string, tree *treeFiles, touched map[string]bool) error {
	path := loop.Dir(directive) + "/" + loop.ManifestFile
	now, ok, err := artifacts(pass, t.Commit.Tree, path)
	if err != nil || !ok {
		return err // judgeEvidence has said what is wrong with one that cannot be read
	}
	var before loop.Artifacts
	if t.Base != "" {
		base, err := pass.Repo.Commit(t.Base)
		if err != nil {
			return err
		}
		if before, _, err = artifacts(pass, base.Tree, path); err != nil {
			return err
		}
	}
	report := func(format string, args ...any) {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: path}, Ref: t.Ref, Rule: "evidence/hash", Message: fmt.Sprintf(format, args...),
			Hint: "the manifest names raw blobs by SHA-256; it only grows"})
	}
	known := map[loop.Artifact]bool{}
	for _, a := range before.Artifacts {
		known[a] = true
	}
	newest, kept := map[string]loop.Artifact{}, map[loop.Artifact]bool{}
	for _, a := range now.Artifacts {
		newest[a.Path], kept[a] = a, true
	}
	for _, a := range now.Artifacts {
		fresh := !known[a]
		if newest[a.Path] != a || !fresh && !(touched[a.Path] && strings.HasPrefix(a.Path, "evidence/")) {
			continue
		}
		if message, err := matches(pass, tree, a); err != nil {
			return err
		} else if message != "" {
			report("%s", message)
		}
	}
	for _, a := range before.Artifacts {
		if pass.Push.Principal == push.Agent && t.Forward && !kept[a] {
			report("the entry for %s of iteration %d is gone", diag.Clean(a.Path), a.Iteration)
			break
		}
	}
	return nil
}

// artifacts reads a manifest in a tree; ok is false when there is none to read.
func artifacts(pass *Pass, tree, path string) (a loop.Artifacts, ok bool, err error) {
	e, ok, err := pass.Repo.Lookup(tree, path)
	if err != nil || !ok {
		return a, false, err
	}
	data, err := pass.Repo.Regular(e, loop.MaxEvidence)
	var large *git.TooLarge
	if data == nil || errors.As(err, &large) {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	return a, json.Unmarshal(data, &a, json.RejectUnknownMembers(true)) == nil, nil
}

// matches compares one entry with the tree; "" when they agree.
func matches(pass *Pass, tree *treeFiles, a loop.Artifact) (message string, err error) {
	e, ok, err := tree.entry(a.Path)
	if err != nil {
		return "", err
	}
	if !ok || e.Mode != git.ModeFile && e.Mode != git.ModeExec {
		return diag.Clean(a.Path) + " is not in the tree", nil
	}
	data, err := pass.Repo.Regular(e, pass.Push.Config.Limits.BlobSize)
	var large *git.TooLarge
	if errors.As(err, &large) {
		return diag.Clean(a.Path) + " is too large to be evidence", nil
	}
	if err == nil && loop.Digest(data) != a.SHA256 {
		message = diag.Clean(a.Path) + " has another hash than the manifest says"
	}
	return message, err
}
