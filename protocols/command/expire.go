package command

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// dropped is a ref that a push deletes, and where it must stand for that.
type dropped struct{ ref, tip string }

// expire drops a unit's record in one push with the step that notes it on the journal
// (REC-5): its last commit, and the hash of its last manifest, which names all else.
func (u *units) expire(id uow.ID, in uow.Input) error {
	j, err := u.journal(id)
	if err != nil {
		return err
	}
	if j != nil && j.Last().Expired != nil {
		return diag.Hint(fmt.Errorf("the record of %s has expired already", id), "git ward uow show %s says what it was", id)
	}
	d := dropped{ref: record.Ref(id)}
	if d.tip, err = u.recordTip(d.ref); err != nil {
		return err
	}
	if d.tip == "" && j != nil {
		return diag.Hint(fmt.Errorf("%s has no record: there is no %s", id, d.ref), "where it is gone from the host, git ward fsck there says since when")
	}
	in.Expired = &uow.Expired{Record: d.tip}
	if d.tip != "" {
		manifest, err := u.reader.File(d.tip, loop.Dir(id.Directive)+"/"+loop.ManifestFile, loop.MaxEvidence)
		if err != nil {
			return err
		}
		if manifest != nil {
			sum := sha256.Sum256(manifest)
			in.Expired.Manifest = hex.EncodeToString(sum[:])
		}
	}
	if err := u.step(id, in, d); err != nil {
		return err
	}
	if tip, err := u.repo.Ref(u.ctx, d.ref); err == nil && tip == d.tip { // the clone's own copy
		return u.repo.UpdateRefs(u.ctx, "ward: uow archive --expire", git.RefUpdate{Ref: d.ref, Old: tip, New: git.Zero})
	}
	return nil
}

// recordTip is the host's tip of a record, "" if there is none. A clone fetches it.
func (u *units) recordTip(ref string) (tip string, err error) {
	if tip, err = u.hostTip(ref); tip == "" || err != nil || u.bare() {
		return tip, err
	}
	if out, err := u.git("fetch", "--quiet", u.remote, ref); err != nil {
		return "", u.how.Explain(fmt.Errorf("git fetch: %s", strings.TrimSpace(out)))
	}
	u.reader.Close() // only a new child is sure to see the new objects
	u.reader = u.repo.Reader(u.ctx)
	return tip, nil
}
