package hooks

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/hooks/checks"
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
	f.claims = map[string]*uow.Record{}
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
	for _, r := range records {
		if r.Event == uow.MakeClaim {
			f.claims[r.Hash] = r
		}
	}
	return records, nil
}

func (f *fsck) verdicts() error {
	f.granted = map[string][]loop.Verdict{}
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
		_, note, err := f.batch.Read(fields[2], checks.MaxVerdicts)
		if f.large(err, loop.VerdictsRef, "the note on "+diag.Short(object)) {
			continue
		}
		if err != nil {
			return err
		}
		list, err := loop.ParseVerdicts(note)
		if err != nil {
			f.report(loop.VerdictsRef, "fsck/verdict", "only the verifier writes there; it passes over such lines", "the note on %s: %v", diag.Short(object), err)
		}
		for _, v := range list {
			f.verdictCount++
			f.granted[v.Unit+" "+object] = append(f.granted[v.Unit+" "+object], v)
			if v.Commit != object {
				f.report(loop.VerdictsRef, "fsck/verdict", "somebody copied it; it counts for nothing", "the note on %s holds a verdict on %s", diag.Short(object), diag.Short(v.Commit))
			} else if problem := f.unfounded(v); problem != "" {
				f.report(loop.VerdictsRef, "fsck/verdict", "only the verifier writes there; git ward verify runs its commands again", "the note on %s holds a verdict %s %s", diag.Short(object), v.Verdict, problem)
			}
		}
	}
	return nil
}

// large reports an object that is larger than any reader takes, and says whether that
// is what the error is: the proof goes on after it.
func (f *fsck) large(err error, ref, what string) bool {
	var large *git.TooLarge
	if !errors.As(err, &large) {
		return false
	}
	f.report(diag.Clean(ref), "fsck/size", "whoever writes it keeps to that bound; look at who did", "%s has %d bytes, more than the %d that are read", diag.Clean(what), large.Object.Size, large.Limit)
	return true
}

// unfounded says why no verifier can have written a verdict; "" when it can. A
// clone without the journals knows no claims.
func (f *fsck) unfounded(v loop.Verdict) string {
	claim := f.claims[v.Claim]
	switch {
	case f.records > 0 && (claim == nil || claim.ID != v.Unit || claim.Claim.Commit != v.Commit || claim.DirectiveHash != v.DirectiveHash):
		return "that no claim of " + diag.Clean(v.Unit) + " asked for"
	case !v.Sound():
		return "that its own outcomes do not bear out"
	}
	return ""
}

// evidence compares the manifests at every branch's tip with the evidence that
// they name. Entries about code are not compared: code goes on changing.
func (f *fsck) evidence() error {
	seen := map[string]bool{} // the same file on many branches is read once
	out, err := f.repo.Output(f.ctx, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return err
	}
	for branch := range strings.FieldsSeq(string(out)) {
		out, err := f.repo.Output(f.ctx, "ls-tree", "-r", "-z", branch, "evidence/")
		if err != nil {
			return err
		}
		for entry := range strings.SplitSeq(string(out), "\x00") {
			meta, path, _ := strings.Cut(entry, "\t")
			place, ok := loop.ParsePlace(path)
			if ok && place.File == loop.ManifestFile {
				err = f.manifest(branch, path)
			} else if ok && !seen[entry] {
				seen[entry] = true
				err = f.success(branch, path, place, meta[strings.LastIndexByte(meta, ' ')+1:])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// success holds a certificate that claims success to the host's verdict on the
// commit that it names. A halting report names none: its last certificate does.
func (f *fsck) success(branch, path string, place loop.Place, blob string) error {
	if place.File != loop.CertificateFile || f.verdictCount == 0 && f.records == 0 {
		return nil // not one, or a clone without notes
	}
	_, data, err := f.batch.Read(blob, loop.MaxEvidence)
	if err != nil {
		if f.large(err, branch, path) {
			return nil
		}
		return err
	}
	s, ok := place.Success(data)
	if ok && !slices.ContainsFunc(f.granted[s.Unit+" "+s.Commit], func(v loop.Verdict) bool { return v.Grants(s) }) {
		f.report(diag.Clean(branch), "fsck/evidence", "compare with git notes --ref=certificates show", "%s claims %s, and the host has no such verdict", diag.Clean(path), s.Verdict)
	}
	return nil
}

func (f *fsck) manifest(branch, path string) error {
	_, data, err := f.batch.Read(branch+":"+path, loop.MaxEvidence)
	if err != nil {
		if f.large(err, branch, path) {
			return nil
		}
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
