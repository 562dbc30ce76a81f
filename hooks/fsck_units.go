package hooks

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// work proves the units of work, the verdicts and the evidence (GIT-3): every
// hash, step and counter of every journal, the ledgers of all units of a
// directive together, the form and place of every verdict, and the hashes of
// every manifest.
func (f *fsck) work() error {
	if err := f.units(); err != nil {
		return err
	}
	if err := f.verdicts(); err != nil {
		return err
	}
	return f.evidence()
}

func (f *fsck) units() error {
	out, err := f.repo.Output(f.ctx, "for-each-ref", "--format=%(refname)", uow.RefPrefix)
	if err != nil {
		return err
	}
	units := map[string][]uow.ID{}
	for ref := range strings.FieldsSeq(string(out)) {
		id, err := uow.ParseRef(ref)
		if err != nil {
			f.report(diag.Clean(ref), "fsck/unit", "delete it on the host: git update-ref -d", "%v", err)
			continue
		}
		units[id.Directive] = append(units[id.Directive], id)
	}
	for _, ids := range units {
		slices.SortFunc(ids, func(a, b uow.ID) int { return a.K - b.K })
		var journals [][]*uow.Record
		for _, id := range ids {
			records, err := f.journal(id)
			if err != nil {
				return err
			}
			journals = append(journals, records)
		}
		for _, d := range uow.CheckLedgers(journals...) {
			f.report(ids[0].Ref(), "fsck/"+strings.TrimPrefix(d.Rule, "uow/"), d.Hint, "%s", d.Message)
		}
	}
	return nil
}

// journal walks one unit's journal and names the first broken record.
func (f *fsck) journal(id uow.ID) ([]*uow.Record, error) {
	out, err := f.repo.Output(f.ctx, "rev-list", "--first-parent", "--reverse", id.Ref())
	if err != nil {
		return nil, err
	}
	commits := strings.Fields(string(out))
	var files [][]byte
	for _, commit := range commits {
		_, data, err := f.batch.Read(commit+":"+uow.File, uow.MaxRecord)
		var large *git.TooLarge
		if err != nil && !errors.Is(err, git.ErrMissing) && !errors.As(err, &large) {
			return nil, err
		}
		files = append(files, data)
	}
	records, found := uow.Validate(id, files)
	for _, d := range found {
		f.report(id.Ref(), "fsck/unit", d.Hint, "commit %s, %s", diag.Short(commits[len(records)]), d.Message)
	}
	f.records += len(records)
	return records, nil
}

func (f *fsck) verdicts() error {
	tip, err := f.repo.Ref(f.ctx, loop.VerdictsRef)
	if err != nil || tip == git.Zero {
		return err
	}
	out, err := f.repo.Output(f.ctx, "ls-tree", "-r", tip)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		meta, path, ok := strings.Cut(strings.TrimSpace(line), "\t")
		fields := strings.Fields(meta)
		if !ok || len(fields) != 3 {
			continue
		}
		object := strings.ReplaceAll(path, "/", "")
		_, note, err := f.batch.Read(fields[2], 64<<20)
		if err != nil {
			return err
		}
		list, err := loop.ParseVerdicts(note)
		if err != nil {
			f.report(loop.VerdictsRef, "fsck/verdict", "only the verifier writes there; it passes over such lines", "the note on %s: %v", diag.Short(object), err)
		}
		for _, v := range list {
			f.verdictCount++
			if v.Commit != object {
				f.report(loop.VerdictsRef, "fsck/verdict", "somebody copied it; it counts for nothing", "the note on %s holds a verdict on %s", diag.Short(object), diag.Short(v.Commit))
			}
		}
	}
	return nil
}

// evidence compares the manifests at every branch's tip with the evidence that
// they name. Entries about code are not compared: code goes on changing.
func (f *fsck) evidence() error {
	out, err := f.repo.Output(f.ctx, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return err
	}
	for branch := range strings.FieldsSeq(string(out)) {
		out, err := f.repo.Output(f.ctx, "ls-tree", "-r", "--name-only", "-z", branch, "evidence/")
		if err != nil {
			return err
		}
		for path := range strings.SplitSeq(string(out), "\x00") {
			if place, ok := loop.ParsePlace(path); ok && place.File == loop.ManifestFile {
				if err := f.manifest(branch, path); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (f *fsck) manifest(branch, path string) error {
	_, data, err := f.batch.Read(branch+":"+path, loop.MaxEvidence)
	if err != nil {
		return err
	}
	var a loop.Artifacts
	if err := json.Unmarshal(data, &a, json.RejectUnknownMembers(true)); err != nil {
		f.report(diag.Clean(branch), "fsck/evidence", "restore it from the branch's history", "%s: %v", diag.Clean(path), err)
		return nil
	}
	a.Artifacts = slices.DeleteFunc(a.Artifacts, func(m loop.Artifact) bool { return !strings.HasPrefix(m.Path, "evidence/") })
	err = a.CheckManifest(func(file string) ([]byte, error) {
		_, data, err := f.batch.Read(branch+":"+file, 64<<20)
		if errors.Is(err, git.ErrMissing) {
			return nil, nil
		}
		return data, err
	})
	if err != nil {
		f.report(diag.Clean(branch), "fsck/evidence", "restore the file from the branch's history", "%v", err)
	}
	return nil
}
