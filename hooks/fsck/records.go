package fsck

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// restoreRecord is the remedy where a record is not what it was.
const restoreRecord = "restore it from a clone or a backup that has it"

// records verifies the units' records (REC-2, REC-4): each has its journal, is a single line
// of commits whose described work exists, has listed files only, contains the commits that the
// journal's claims name, and evidence that its manifests prove.
func (w *workProof) records(ctx context.Context, journals map[uow.ID]*state.Journal) error {
	refs, err := w.reader.Refs(record.Prefix)
	if err != nil {
		return err
	}
	proved := map[uow.ID]bool{}
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		id, why := record.ParseRef(ref)
		if why != nil {
			w.report.add(diag.Clean(ref), "fsck/record", drop, "%v", why)
			continue
		}
		proved[id] = true
		if j := journals[id]; j != nil || w.steps > 0 { // a clone may have fetched none
			w.owner(ref, j)
		}
		if err := w.record(ctx, id, ref, refs[ref], journals[id]); err != nil {
			return err
		}
	}
	if bare, err := w.repo.Bare(ctx); err != nil || !bare {
		return err // nobody has to fetch all of them
	}
	for id, j := range journals {
		if !proved[id] && leftRecord(j) {
			w.report.add(record.Ref(id), "fsck/record", restoreRecord+"; one that is to go is dropped by git ward uow archive --expire "+id.String(),
				"%s has no record any more, and its journal says that it kept one", id)
		}
	}
	return nil
}

// owner checks a record against its unit's journal.
func (w *workProof) owner(ref string, j *state.Journal) {
	switch {
	case j == nil:
		w.report.add(ref, "fsck/record", "restore its journal, or "+drop, "there is no journal of its unit")
	case len(j.Findings) > 0 || len(j.Records) == 0:
		// The journal's own findings say it.
	case j.Last().Expired != nil:
		w.report.add(ref, "fsck/record", drop, "the PM dropped the record of %s, and it is here again", j.ID)
	}
}

// leftRecord reports whether a unit must have a record: it has claimed work, which the hooks
// do not accept without one, and nobody has expired it. One that was deleted before that is
// for the audit to report.
func leftRecord(j *state.Journal) bool {
	return len(j.Records) > 0 && j.Last().Expired == nil && slices.ContainsFunc(j.Records, func(r *uow.Record) bool {
		return r.Event == uow.MakeClaim && r.Claim.Record != ""
	})
}

// record proves one record from its tip.
func (w *workProof) record(ctx context.Context, id uow.ID, ref, tip string, j *state.Journal) error {
	speaks := map[string]string{} // what each commit of the line speaks of, "" for nothing
	var made []artifacts
	odd := map[string]bool{} // paths, each told once
	err := line(ctx, w.repo, tip, func(c spoken) error {
		speaks[c.id] = ""
		if len(c.parents) > 2 {
			w.report.add(ref, "fsck/record", restoreRecord, "commit %s has %d parents, and no record's commit has more than two", diag.Short(c.id), len(c.parents))
		}
		for _, ch := range c.changes {
			w.path(ref, id, c.id, ch, odd)
		}
		if len(c.parents) < 2 {
			return nil
		}
		speaks[c.id] = c.parents[1]
		for _, ch := range c.changes {
			if at, ok := loop.ParseEvidencePath(ch.path); ok && at.File == loop.ArtifactsFile && ch.mode != gone {
				made = append(made, artifacts{ch.path, c.parents[1]})
			}
		}
		return w.spokenOf(ref, c.id, c.parents[1])
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.report.add(ref, "fsck/record", restoreRecord, "git cannot walk it: %v", err)
		return nil
	}
	if j != nil {
		w.claimed(ref, j, speaks)
	}
	if err := w.messages(ref, id); err != nil {
		return err
	}
	return w.proofs(ref, id, made)
}

// Modes of a change, as git prints them.
const (
	regular = "100644"
	gone    = "000000"
)

// path reports a path that no record may hold.
func (w *workProof) path(ref string, id uow.ID, commit string, ch change, told map[string]bool) {
	if ch.mode == gone || told[ch.path] {
		return
	}
	switch {
	case !record.Listed(id.Directive, ch.path):
		told[ch.path] = true
		w.report.add(ref, "fsck/record", restoreRecord, "commit %s has %s, which no record of %s holds", diag.Short(commit), diag.Clean(ch.path), id.Directive)
	case ch.mode != regular:
		told[ch.path] = true
		w.report.add(ref, "fsck/record", restoreRecord, "commit %s has %s with mode %s, and a record holds regular files", diag.Short(commit), diag.Clean(ch.path), ch.mode)
	}
}

// spokenOf checks that the work described by a record's commit exists, because perhaps only
// the record keeps it.
func (w *workProof) spokenOf(ref, commit, work string) error {
	object, err := w.objects.batch.Info(work)
	switch {
	case errors.Is(err, git.ErrMissing):
		w.report.add(ref, "fsck/record", "restore the commit from a clone or a backup that has it", "the work commit %s, of which commit %s speaks, is gone", diag.Short(work), diag.Short(commit))
		return nil
	case err == nil && object.Kind != "commit":
		w.report.add(ref, "fsck/record", restoreRecord, "commit %s speaks of a %s, and not of a commit", diag.Short(commit), object.Kind)
	}
	return err
}

// claimed checks that a record has what its journal's claims name: one that was moved back or
// replaced lacks it.
func (w *workProof) claimed(ref string, j *state.Journal, speaks map[string]string) {
	for _, r := range j.Records {
		if r.Event != uow.MakeClaim || r.Claim.Record == "" {
			continue
		}
		commit, work := w.tombstones.now(r.Claim.Record), w.tombstones.now(r.Claim.Commit)
		switch of, ok := speaks[commit]; {
		case !ok:
			w.report.add(ref, "fsck/record", restoreRecord, "it does not have the commit %s, which the claim of iteration %d names: it was moved back, or is another one",
				diag.Short(commit), r.Claim.Iteration)
		case of != work:
			w.report.add(ref, "fsck/record", restoreRecord, "commit %s does not speak of the commit %s, which the claim of iteration %d says", diag.Short(commit), diag.Short(work), r.Claim.Iteration)
		}
	}
}

// proofs proves the evidence that a record's manifests name, and the files of the work
// that each iteration left.
func (w *workProof) proofs(ref string, id uow.ID, made []artifacts) error {
	var trouble error
	at := func(rev, path string) ([]byte, error) {
		data, err := w.reader.File(rev, path, maxFile)
		if errors.Is(err, git.ErrMissing) || err != nil && w.tooLarge(err, ref, path) {
			return nil, nil // then it is missing
		}
		trouble = errors.Join(trouble, err)
		return data, err
	}
	head := func(path string) ([]byte, error) { return at(ref, path) }
	err := loop.CheckChain(loop.Dir(id.Directive)+"/"+loop.ManifestFile, head, nil)
	if trouble == nil {
		w.mismatches(ref, ref, err)
	}
	for _, m := range made {
		data, err := head(m.path)
		if err != nil {
			break
		}
		var a loop.Artifacts
		if json.Unmarshal(data, &a, json.RejectUnknownMembers(true)) != nil {
			continue // the chain of manifests names it with its hash
		}
		err = a.CheckManifest(func(path string) ([]byte, error) {
			if strings.HasPrefix(path, "evidence/") {
				return head(path)
			}
			return at(m.work, path)
		})
		if trouble == nil {
			w.mismatches(ref, m.work, err)
		}
	}
	return trouble
}

// artifacts are those of one iteration, and the commit of the work that they are of.
type artifacts struct{ path, work string }

// mismatches reports false entries of a manifest, except for redacted files; rev has the files
// that are not evidence. Any other error is trouble, or an unreadable manifest.
func (w *workProof) mismatches(ref, rev string, err error) {
	for _, problem := range each(err) {
		if m, ok := errors.AsType[*loop.Mismatch](problem); ok {
			file := rev + ":" + m.Path
			if strings.HasPrefix(m.Path, "evidence/") {
				file = ref + ":" + m.Path
			}
			if !m.Missing && w.tombstones.covers(w.objects, file) {
				continue
			}
		}
		w.report.add(diag.Clean(ref), "fsck/evidence", restoreRecord, "%s", diag.Clean(problem.Error()))
	}
}

// each are the errors that were joined to one.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, each(e)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
