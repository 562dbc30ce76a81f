package maintain

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/git"
)

// repository is a bare one, or a clone, whose refs a test moves by itself.
type repository struct {
	*git.Repo
	t *testing.T
}

func newRepository(t *testing.T, args ...string) *repository {
	t.Helper()
	r := &repository{git.Open(t.TempDir()), t}
	r.git(append([]string{"init", "--quiet", r.Dir}, args...)...)
	r.git("config", "core.bare", strconv.FormatBool(len(args) > 0))
	r.git("config", "core.logAllRefUpdates", "always")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.Output(r.t.Context(), args...)
	if err != nil {
		r.t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// commit is one of its own, by its content.
func (r *repository) commit(text string) string {
	r.t.Helper()
	id, err := r.CommitFile("", "file", []byte(text), time.Unix(1, 0), "test")
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *repository) has(id string) bool {
	ok, err := r.Exits(r.t.Context(), "cat-file", "-e", id)
	return ok && err == nil
}

// TestFrees: what the agent deleted or rewrote goes after a time, and before it stays;
// what a person's branch was stays as git keeps it.
func TestFrees(t *testing.T) {
	r := newRepository(t, "--bare")
	refs := []string{"refs/heads/agent/D-1", "refs/heads/rescue/x", "refs/ward/record/D-1.1", "refs/heads/main", "refs/heads/agent/gone"}
	old := map[string]string{}
	for _, ref := range refs {
		old[ref] = r.commit("old " + ref)
		r.git("update-ref", ref, old[ref])
		r.git("update-ref", ref, r.commit("new "+ref))
	}
	r.git("update-ref", "-d", "refs/heads/agent/gone")
	if _, err := Run(t.Context(), r.Repo, Options{Keep: DefaultKeep}); err != nil {
		t.Fatal(err)
	}
	for ref, id := range old {
		if !r.has(id) {
			t.Errorf("%s: what it was a moment ago is gone", ref)
		}
	}
	r.git("config", "core.repositoryFormatVersion", "1")
	r.git("config", "extensions.preciousObjects", "true") // clones borrow from it
	if report, err := Run(t.Context(), r.Repo, Options{Reclaim: true}); err != nil || !report.Precious {
		t.Fatalf("%+v, %v", report, err)
	}
	for ref, id := range old {
		if !r.has(id) {
			t.Errorf("%s: what it was is gone from a repository whose objects are precious", ref)
		}
	}
	r.git("config", "extensions.preciousObjects", "false")
	if _, err := Run(t.Context(), r.Repo, Options{}); err != nil {
		t.Fatal(err)
	}
	for ref, id := range old {
		if kept := ref == "refs/heads/main"; r.has(id) != kept {
			t.Errorf("%s: kept %v", ref, !kept)
		}
		if ref != "refs/heads/agent/gone" && !r.has(r.git("rev-parse", ref)) {
			t.Errorf("%s leads nowhere", ref)
		}
	}
	// A ref without a reflog is none to expire.
	if err := os.Remove(filepath.Join(r.Dir, "logs/refs/heads/agent/D-1")); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), r.Repo, Options{}); err != nil {
		t.Error(err)
	}
}

// TestYoung: what nothing leads to, and is too young to go, takes no file each: it is packed,
// goes at its own time, and stays where something comes to lead to it meanwhile.
func TestYoung(t *testing.T) {
	r := newRepository(t, "--bare")
	r.git("update-ref", "refs/heads/main", r.commit("main"))
	var ids []string
	for i := range 20 { // as renewals of leases leave them
		id, err := r.WriteObject("blob", []byte(strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	maintain := func(keep time.Duration) {
		t.Helper()
		if _, err := Run(t.Context(), r.Repo, Options{Keep: keep}); err != nil {
			t.Fatal(err)
		}
	}
	maintain(DefaultKeep)
	if out := r.git("count-objects"); !strings.HasPrefix(out, "0 objects") {
		t.Error(out)
	}
	for _, id := range ids {
		if !r.has(id) {
			t.Fatalf("%s is gone before its time", id)
		}
	}
	times, err := filepath.Glob(filepath.Join(r.Dir, "objects/pack/*.mtimes"))
	if err != nil || len(times) != 1 {
		t.Fatal(times, err)
	}
	r.git("update-ref", "refs/heads/led", r.commit("0")) // which has the first blob
	maintain(0)
	for i, id := range ids {
		if r.has(id) != (i == 0) {
			t.Errorf("%d: is there %v", i, r.has(id))
		}
	}
	r.git("fsck", "--strict")
}

// TestClone: a clone is somebody's own, and loses nothing.
func TestClone(t *testing.T) {
	r := newRepository(t)
	old := r.commit("old")
	r.git("update-ref", "refs/heads/agent/D-1", old)
	r.git("update-ref", "refs/heads/agent/D-1", r.commit("new"))
	if _, err := Run(t.Context(), r.Repo, Options{}); err != nil || !r.has(old) {
		t.Error("lost", err)
	}
}

// TestRedactedGoes: where something was redacted, the reflogs of what moved do not keep
// it, and the report says whether it is gone.
func TestRedactedGoes(t *testing.T) {
	r := newRepository(t, "--bare")
	secret := r.commit("secret")
	blob := r.git("rev-parse", secret+":file")
	r.git("symbolic-ref", "HEAD", "refs/heads/main")
	r.git("update-ref", "HEAD", secret)
	r.git("update-ref", "HEAD", r.commit("stone"))
	batch := r.Batch(t.Context())
	defer batch.Close()
	data, err := (&audit.Tombstone{Why: "x", Objects: []audit.Redacted{{Blob: blob, Path: "file", Stone: git.BlobID([]byte("stone"))}}, Commits: map[string]string{}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	id, err := r.WriteObject("blob", data)
	if err != nil {
		t.Fatal(err)
	}
	w, err := audit.NewWriter(t.Context(), r.Repo, batch)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.MkdirAll(filepath.Join(r.Dir, "ward/pending"), 0o755); err != nil {
		t.Fatal(err)
	}
	record := &audit.Record{Time: time.Unix(1, 0).UTC(), Principal: "pm", Verdict: audit.Accepted, Rules: []string{}, Push: "redact-1"}
	record.Refs = []audit.Ref{{Applied: true}}
	record.Refs[0].Ref, record.Refs[0].Old, record.Refs[0].New = "refs/heads/main", secret, r.git("rev-parse", "refs/heads/main")
	if err := w.Append(t.Context(), audit.Entry{Record: record, Tombstone: id}); err != nil {
		t.Fatal(err)
	}
	if done, err := Run(t.Context(), r.Repo, Options{Keep: DefaultKeep}); err != nil || done.Dropped != 1 || done.Stored != 1 || !r.has(blob) {
		t.Fatalf("it is younger than an hour: %+v, %v", done, err)
	}
	if done, err := Run(t.Context(), r.Repo, Options{}); err != nil || done.Dropped != 1 || done.Stored != 0 || r.has(blob) || !r.has("refs/heads/main") {
		t.Fatalf("%+v, %v", done, err)
	}
}

// TestHalfRemovedPack: what a run that was killed left of a pack goes with the next one,
// where git's own repack (2.42 and later) does not look at it. Another pack without an
// index may be one that a push is just bringing.
func TestHalfRemovedPack(t *testing.T) {
	r := newRepository(t, "--bare")
	for name, text := range map[string]string{
		goingPath:                     strings.Repeat("1", 40) + "\npack-half\npack-begun\n../pack-out\n",
		"objects/pack/pack-half.pack": "", "objects/pack/pack-half.rev": "",
		"objects/pack/pack-begun.idx": "", "objects/pack/pack-begun.pack": "",
		"objects/pack/pack-brought.pack": "", "objects/pack-out.pack": "",
	} {
		path := filepath.Join(r.Dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&reclaimer{ctx: t.Context(), repo: r.Repo}).finishPacks(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(r.Dir, "objects/pack*/*"))
	if err != nil || len(left) != 3 {
		t.Errorf("%q, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "objects/pack-out.pack")); err != nil {
		t.Error(err)
	}
}

// TestHalfWrittenPack: a pack that a repack which was killed has half written goes with the next
// run, which git's own would end at, time and again.
func TestHalfWrittenPack(t *testing.T) {
	r := newRepository(t, "--bare")
	r.git("update-ref", "refs/heads/main", r.commit("one"))
	r.git("repack", "-qad")
	half := filepath.Join(r.Dir, "objects/pack/.tmp-999999-pack-"+strings.Repeat("a", 40)+".pack")
	theirs := filepath.Join(r.Dir, "objects/pack/.tmp-notes")
	for _, path := range []string{half, theirs} {
		if err := os.WriteFile(path, nil, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	r.commit("two")
	done, err := Run(t.Context(), r.Repo, Options{Keep: DefaultKeep})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); !os.IsNotExist(err) || len(done.Locks) != 1 {
		t.Errorf("%v, %q", err, done.Locks)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
}
