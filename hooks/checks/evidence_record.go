package checks

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
)

// On a record evidence is linear (LOOP-7): each iteration's manifest names the new files and
// the previous manifest, and none of them changes afterwards. So the chain is verified link by
// link as it arrives, and a push costs what it adds, however long the loop is.

// recordEvidence is what the commit of a record says of the work which is judged now.
type recordEvidence struct{ listed []walk.Change }

func (r *recordEvidence) path(_ *Pass, c *walk.Commit, change walk.Change) {
	if c.History != push.Records {
		return
	}
	if at, ok := loop.ParseEvidencePath(change.Path); ok && at.File == loop.ArtifactsFile {
		r.listed = append(r.listed, change)
	}
}

// artifacts compares an iteration's artifacts, as a record's commit lists them, with the work
// that the commit names.
func (r *recordEvidence) artifacts(pass *Pass, c *walk.Commit, _ []string) error {
	listed := r.listed
	r.listed = nil
	if c.History != push.Records {
		return nil
	}
	for _, change := range listed {
		a, ok, err := artifacts(pass, c.Tree, change.Path)
		if err != nil {
			return err
		}
		if !ok {
			continue // judge says what is wrong with it
		}
		work, err := treeOf(pass, record.Work(c.Parents))
		if err != nil {
			return err
		}
		own, works := &treeFiles{pass: pass, tree: c.Tree}, &treeFiles{pass: pass, tree: work}
		for _, a := range a.Artifacts {
			tree := works
			if strings.HasPrefix(a.Path, "evidence/") {
				tree = own
			}
			if err := reportMismatch(pass, tree, a, at(c, change.Path), c.Ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportMismatch reports a manifest entry that its tree does not support.
func reportMismatch(pass *Pass, tree *treeFiles, a loop.Artifact, pos diag.Pos, ref string) error {
	message, err := matches(pass, tree, a)
	if err == nil && message != "" {
		pass.Report(diag.Diagnostic{Pos: pos, Ref: ref, Rule: "evidence/hash", Message: message, Hint: "a manifest names raw blobs by SHA-256, those of work as the record's second parent has them"})
	}
	return err
}

// judge judges the evidence changed by a record's commit.
func (r *recordEvidence) judge(pass *Pass, t *walk.Tip) error {
	tree, before := &treeFiles{pass: pass, tree: t.Commit.Tree}, &treeFiles{pass: pass}
	if t.Base != "" {
		base, err := treeOf(pass, t.Base)
		if err != nil {
			return err
		}
		before.tree = base
	}
	judged := map[string]bool{} // manifests, by blob
	directive := ""
	for _, c := range t.Changes {
		at, ok := loop.ParseEvidencePath(c.Path)
		if !ok {
			continue
		}
		if err := judgeEvidence(pass, t, c, at); err != nil {
			return err
		}
		if err := judgeLate(pass, t, before, c, at); err != nil {
			return err
		}
		if at.File != loop.ManifestFile {
			continue
		}
		directive = at.Directive
		if c.Deleted() {
			continue
		}
		if at.Iteration >= 0 {
			if err := judgePrevious(pass, t, tree, c.Path, at); err != nil {
				return err
			}
		}
		if !judged[c.New.ID] {
			judged[c.New.ID] = true
			if err := judgeLinks(pass, t, tree, c.Path); err != nil {
				return err
			}
		}
	}
	if directive == "" {
		return nil
	}
	return judgeNewest(pass, t, tree, directive)
}

// judgeLate refuses a file that is added to an iteration after its manifest: the chain of
// manifests would not contain it.
func judgeLate(pass *Pass, t *walk.Tip, before *treeFiles, c walk.Change, at loop.EvidencePath) error {
	if pass.Push.Principal != push.Agent || !at.Frozen() || c.Old.ID != "" {
		return nil
	}
	_, closed, err := before.entry(loop.IterationDir(at.Directive, at.Iteration) + "/" + loop.ManifestFile)
	if err == nil && closed {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: c.Path}, Ref: t.Ref, Rule: "evidence/frozen",
			Message: "the iteration has its manifest already, which does not know this file", Hint: "leave it out, or put it into the iteration under way"})
	}
	return err
}

// judgePrevious checks that an iteration's manifest names the newest earlier one, so that none
// can be left out.
func judgePrevious(pass *Pass, t *walk.Tip, tree *treeFiles, path string, at loop.EvidencePath) error {
	a, ok, err := artifacts(pass, t.Commit.Tree, path)
	if err != nil || !ok {
		return err // judgeEvidence has said what is wrong with one that cannot be read
	}
	want, err := newestManifest(tree, at.Directive, at.Iteration)
	if err != nil {
		return err
	}
	have := ""
	if a.Previous != nil {
		have = a.Previous.Path
	}
	if have != want {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: path}, Ref: t.Ref, Rule: "evidence/hash",
			Message: fmt.Sprintf("it goes on from %s, and the manifest before it is %s", cmp.Or(diag.Clean(have), "nothing"), cmp.Or(want, "none")),
			Hint:    "\"previous\" names the newest manifest of an earlier iteration, with its hash"})
	}
	return nil
}

// judgeLinks compares a manifest with the evidence that it names. Other files on a record,
// above all LEARNINGS.md, keep changing.
func judgeLinks(pass *Pass, t *walk.Tip, tree *treeFiles, path string) error {
	a, ok, err := artifacts(pass, t.Commit.Tree, path)
	if err != nil || !ok {
		return err // judgeEvidence has said what is wrong with one that cannot be read
	}
	for _, l := range a.Links() {
		if !strings.HasPrefix(l.Path, "evidence/") {
			continue
		}
		if err := reportMismatch(pass, tree, loop.Artifact{Path: l.Path, SHA256: l.SHA256}, diag.Pos{Commit: t.New, Path: path}, t.Ref); err != nil {
			return err
		}
	}
	return nil
}

// judgeNewest checks that the loop's manifest equals the newest iteration's, or continues it.
func judgeNewest(pass *Pass, t *walk.Tip, tree *treeFiles, directive string) error {
	newest, err := newestManifest(tree, directive, math.MaxInt)
	if err != nil || newest == "" {
		return err
	}
	top := loop.Dir(directive) + "/" + loop.ManifestFile
	a, ok, err := tree.entry(top)
	if err != nil {
		return err
	}
	b, _, err := tree.entry(newest)
	if err != nil || ok && a.ID == b.ID {
		return err
	}
	if ok {
		list, readable, err := artifacts(pass, t.Commit.Tree, top)
		if err != nil || readable && list.Previous != nil && list.Previous.Path == newest { // whose hash is compared
			return err
		}
	}
	pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: top}, Ref: t.Ref, Rule: "evidence/hash",
		Message: fmt.Sprintf("it is not %s, and does not go on from there", newest), Hint: "copy it from there: the loop's manifest is the newest iteration's"})
	return nil
}

// newestManifest is the path of the newest earlier iteration's manifest, "" for none.
func newestManifest(tree *treeFiles, directive string, before int) (string, error) {
	e, ok, err := tree.entry(loop.Dir(directive))
	if err != nil || !ok || !e.IsDir() {
		return "", err
	}
	dir, err := tree.dir(e.ID)
	if err != nil {
		return "", err
	}
	newest := -1
	for name, e := range dir {
		n, ok := loop.ParseIteration(name)
		if !ok || n <= newest || n >= before || !e.IsDir() {
			continue
		}
		below, err := tree.dir(e.ID)
		if err != nil {
			return "", err
		}
		if below[loop.ManifestFile].Mode == git.ModeFile {
			newest = n
		}
	}
	if newest < 0 {
		return "", nil
	}
	return loop.IterationDir(directive, newest) + "/" + loop.ManifestFile, nil
}
