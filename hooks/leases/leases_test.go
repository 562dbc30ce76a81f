package leases_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/leases"
	"git-ward/hooks/push"
	"git-ward/internal/await"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/protocols/lease"
)

func bare(t *testing.T) (*git.Repo, *git.Batch) {
	dir := filepath.Join(t.TempDir(), "remote.git")
	gittest.Git(t, filepath.Dir(dir), "init", "--quiet", "--bare", dir)
	if err := os.MkdirAll(filepath.Join(dir, "ward", "pending"), 0o700); err != nil {
		t.Fatal(err)
	}
	repo := git.Open(dir)
	batch := repo.Batch(t.Context())
	t.Cleanup(func() { batch.Close() })
	return repo, batch
}

// set points a ref at a blob.
func set(t *testing.T, repo *git.Repo, ref string, data []byte) string {
	t.Helper()
	id, err := repo.WriteObject("blob", data)
	if err == nil {
		err = repo.UpdateRefs(t.Context(), "test", git.RefUpdate{Ref: ref, Old: git.Zero, New: id})
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func taken(t *testing.T, repo *git.Repo, directive string, at time.Time) lease.Lease {
	t.Helper()
	l := lease.New(directive, [lease.IDBytes]byte{7}, "alpha.1", "process", at, lease.DefaultTerm)
	data, err := l.Format()
	if err != nil {
		t.Fatal(err)
	}
	set(t, repo, lease.Ref(directive), data)
	return l
}

// TestStandings: what each lease of a repository says, whatever stands in its place.
func TestStandings(t *testing.T) {
	repo, batch := bare(t)
	now := time.Now()
	l := taken(t, repo, "D-1", now)
	taken(t, repo, "D-2", now.Add(-lease.DefaultTerm))
	taken(t, repo, "D-3", now.Add(-time.Hour))
	taken(t, repo, "D-4", now.Add(2*lease.MaxSkew))
	set(t, repo, lease.Ref("D-5"), []byte("none"))
	set(t, repo, lease.Ref("D-6"), []byte(strings.Repeat("x", lease.MaxBytes+1)))
	set(t, repo, lease.Prefix+"x/y", []byte("none"))
	gone := set(t, repo, lease.Ref("D-7"), []byte("soon gone"))
	if err := os.Remove(filepath.Join(repo.Dir, "objects", gone[:2], gone[2:])); err != nil {
		t.Fatal(err)
	}
	held := map[string]bool{"D-1": true, "D-2": true, "D-3": false, "D-4": true, "D-5": true, "D-6": true, "D-7": true, "": true}
	lost := map[string]string{"D-1": "", "D-2": "it ended at", "D-3": "it ended at", "D-4": "ahead of this host's clock", "D-5": "cannot be read", "D-6": "cannot be read",
		"D-7": "cannot be read", "": "is not the ref of a lease"}
	all, err := leases.List(t.Context(), repo, batch, now)
	if err != nil || len(all) != len(held) {
		t.Fatal(all, err)
	}
	for _, e := range all {
		why := e.Lost(l.ID)
		if e.Held() != held[e.Directive] || !strings.Contains(why, lost[e.Directive]) || (why == "") != (lost[e.Directive] == "") {
			t.Errorf("%s: held %v, lost %q", e.Ref, e.Held(), why)
		}
	}
	if all[0].Lost("ffffffffffffffff") == "" {
		t.Error("another taking is this one")
	}
	if s, err := leases.Read(batch, "D-9", now); err != nil || s.Held() || s.Lost(l.ID) == "" {
		t.Error("no lease is one", err)
	}
}

// TestRevokeWaits: when a lease has been revoked, no push by it moves a ref any more: one that
// was admitted before has ended.
func TestRevokeWaits(t *testing.T) {
	repo, batch := bare(t)
	now := time.Now()
	l := taken(t, repo, "D-1", now)
	taken(t, repo, "D-2", now)
	receivePack := exec.Command("sleep", "600")
	if err := receivePack.Start(); err != nil {
		t.Fatal(err)
	}
	defer receivePack.Process.Kill()
	process, err := audit.Identify(receivePack.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	e := audit.Entry{Record: &audit.Record{Push: "20261121T120000Z-1", Principal: string(push.Agent), Name: l.Name(), Verdict: audit.Accepted}}
	p, err := audit.Arrive(repo, batch, e, process)
	if err == nil {
		err = p.Admit(repo, batch, e, process, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leases.Revoke(t.Context(), repo, batch, "D-2"); err != nil || !process.Alive() {
		t.Errorf("another directive's revocation waits (%v)", err)
	}
	revoked := make(chan error, 1)
	var was leases.Standing
	go func() {
		batch := repo.Batch(t.Context())
		defer batch.Close()
		var err error
		was, err = leases.Revoke(t.Context(), repo, batch, "D-1")
		if process.Alive() {
			err = errors.Join(err, errors.New("the push goes on"))
		}
		revoked <- err
	}()
	await.True(t, "the lease has gone", func() bool { // and from then on the revocation waits
		ref, err := repo.Ref(t.Context(), lease.Ref("D-1"))
		return err == nil && ref == git.Zero
	})
	receivePack.Process.Kill()
	receivePack.Wait()
	if err := await.Value(t, "the revocation ends", revoked); err != nil || was.Lease.ID != l.ID {
		t.Error(err)
	}
	if s, err := leases.Read(batch, "D-1", now); err != nil || s.Object != "" {
		t.Error("it is there still", err)
	}
	if _, err := leases.Revoke(t.Context(), repo, batch, "D-1"); !errors.Is(err, leases.ErrNone) {
		t.Error(err)
	}
	gittest.Git(t, repo.Dir, "fsck", "--strict")
}

// TestRevokeName: a lease that is another ref's name goes, and the other ref stays.
func TestRevokeName(t *testing.T) {
	repo, batch := bare(t)
	set(t, repo, "refs/tags/mine", []byte("kept"))
	gittest.Git(t, repo.Dir, "symbolic-ref", lease.Ref("D-1"), "refs/tags/mine")
	if was, err := leases.Revoke(t.Context(), repo, batch, "D-1"); err != nil || was.Broken == nil {
		t.Error(was, err)
	}
	if left := gittest.Git(t, repo.Dir, "for-each-ref", "--format=%(refname)"); left != "refs/tags/mine" {
		t.Errorf("%q is left", left)
	}
}

// TestRevokeWhatIsBroken: a lease that nobody can read can be revoked all the same.
func TestRevokeWhatIsBroken(t *testing.T) {
	repo, batch := bare(t)
	set(t, repo, lease.Ref("D-1"), []byte("none"))
	if was, err := leases.Revoke(t.Context(), repo, batch, "D-1"); err != nil || was.Broken == nil {
		t.Error(was, err)
	}
	gittest.Git(t, repo.Dir, "fsck", "--strict")
}
