package fsck

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/envelope"
	"git-ward/internal/git"
	"git-ward/protocols/attest"
	"git-ward/protocols/lease"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"

	"github.com/go-json-experiment/json"
	"golang.org/x/crypto/ssh"
)

// guarded is a bare repository with a history, its audit and a unit of work, whole
// until a test damages it.
type guarded struct {
	*git.Repo
	t    *testing.T
	when time.Time
}

// newGuarded is a copy of one that is made once.
func newGuarded(t *testing.T) *guarded {
	t.Helper()
	once.Do(func() { whole = makeGuarded(t) })
	return whole.copy(t, t.TempDir())
}

// copy puts a copy into a directory.
func (g *guarded) copy(t *testing.T, dir string) *guarded {
	t.Helper()
	if g == nil {
		t.Fatal("the repository was not made: see the first failure")
	}
	c := &guarded{Repo: git.Open(filepath.Join(dir, "r.git")), t: t, when: g.when}
	if err := os.CopyFS(c.Dir, os.DirFS(g.Dir)); err != nil {
		t.Fatal(err)
	}
	return c
}

func makeGuarded(t *testing.T) *guarded {
	t.Helper()
	dir, err := os.MkdirTemp("", "ward-test-fsck-")
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{Repo: git.Open(dir), t: t, when: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	if err := os.MkdirAll(filepath.Join(g.Dir, "ward/pending"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.git("init", "-q", "--bare", "--initial-branch=main", g.Dir)
	g.git("config", "core.logAllRefUpdates", "always")
	first := g.commit("", "COMMS.md", "# COMMS\n")
	g.push("refs/heads/main", first)
	g.push("refs/heads/main", g.commit(first, "COMMS.md", "# COMMS again\n"))
	g.unit("D-1.1", uow.Open, uow.Activate)
	return g
}

func (g *guarded) git(args ...string) string {
	g.t.Helper()
	out, err := g.Output(g.t.Context(), args...)
	if err != nil {
		g.t.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

func (g *guarded) tip(ref string) string {
	g.t.Helper()
	id, err := g.Ref(g.t.Context(), ref)
	if err != nil {
		g.t.Fatal(err)
	}
	return id
}

// commit stores a commit of one file.
func (g *guarded) commit(parent, path, text string) string {
	g.t.Helper()
	id, err := g.CommitFile(parent, path, []byte(text), g.when, "test")
	if err != nil {
		g.t.Fatal(err)
	}
	return id
}

// move moves a ref and records nothing.
func (g *guarded) move(ref, to string) {
	g.t.Helper()
	if err := g.UpdateRefs(g.t.Context(), "test", git.RefUpdate{Ref: ref, Old: g.tip(ref), New: to}); err != nil {
		g.t.Fatal(err)
	}
}

// push moves a ref and records it, as a push does.
func (g *guarded) push(ref, to string) {
	g.t.Helper()
	old := g.tip(ref)
	g.move(ref, to)
	g.record(&audit.Record{Refs: []audit.Ref{{Update: push.Update{Ref: audit.QuoteRef(ref), Old: old, New: to}, Applied: true}}})
}

// lease gives somebody a directive at a time, as the gate's host does.
func (g *guarded) lease(directive string, at time.Time) {
	g.t.Helper()
	data, err := lease.New(directive, [lease.IDBytes]byte{}, "robo", "process", at, lease.DefaultTerm).Format()
	if err != nil {
		g.t.Fatal(err)
	}
	id, err := g.WriteObject("blob", data)
	if err != nil {
		g.t.Fatal(err)
	}
	g.move(lease.Ref(directive), id)
}

// record appends a record of an accepted push.
func (g *guarded) record(r *audit.Record) {
	g.t.Helper()
	batch := g.Batch(g.t.Context())
	defer batch.Close()
	w, err := audit.NewWriter(g.t.Context(), g.Repo, batch)
	if err != nil {
		g.t.Fatal(err)
	}
	defer w.Close()
	g.when = g.when.Add(time.Second)
	r.Time, r.Principal, r.Verdict, r.Rules = g.when, "pm", audit.Accepted, []string{}
	r.Push = g.when.Format("20060102T150405Z-") + "00"
	if err := w.Append(g.t.Context(), audit.Entry{Record: r}); err != nil {
		g.t.Fatal(err)
	}
}

// next is a unit's record after what is stored of it.
func (g *guarded) next(name string, in uow.Input) (id uow.ID, next *uow.Record) {
	g.t.Helper()
	id, err := uow.ParseID(name)
	if err != nil {
		g.t.Fatal(err)
	}
	var last *uow.Record
	if tip := g.tip(id.Ref()); tip != git.Zero {
		if last, err = uow.ParseRecord([]byte(g.git("cat-file", "blob", tip+":"+uow.File))); err != nil {
			g.t.Fatal(err)
		}
	}
	in.Time = g.when
	main := &uow.Main{DirectiveHash: strings.Repeat("d", 64), Total: uow.Totals(5), Policy: uow.DefaultPolicy()}
	next, found := uow.Advance(id, last, in, uow.World{Main: main})
	if len(found) > 0 {
		g.t.Fatal(in.Event, found)
	}
	return id, next
}

// unit pushes records on a unit's journal; claims are of main's tip.
func (g *guarded) unit(name string, events ...uow.Event) *uow.Record {
	g.t.Helper()
	var last *uow.Record
	for _, event := range events {
		in := uow.Input{Event: event, Actor: uow.Agent, Reason: reasons[event]}
		if event == uow.Iterate || event == uow.MakeClaim {
			in.Interactions = 1
		}
		if event == uow.MakeClaim {
			in.Commit = g.tip("refs/heads/main")
			in.Record = g.papers(name, in.Commit)
		}
		id, next := g.next(name, in)
		g.journal(id, next, "")
		last = next
	}
	return last
}

// papers pushes a unit's record, with nothing in it, whose tip speaks of a commit of
// the work.
func (g *guarded) papers(name, work string) string {
	g.t.Helper()
	empty := g.git("hash-object", "-t", "tree", "-w", "/dev/null")
	root, err := g.CommitTree(git.Ward, empty, "", g.when, "root")
	if err != nil {
		g.t.Fatal(err)
	}
	speaks, err := g.CommitMerge(git.Ward, empty, []string{root, work}, g.when, "claim")
	if err != nil {
		g.t.Fatal(err)
	}
	g.push(record.Prefix+name, speaks)
	return speaks
}

// journal pushes a record; with forged, a text in its place.
func (g *guarded) journal(id uow.ID, r *uow.Record, forged string) {
	g.t.Helper()
	data, err := r.Marshal()
	if err != nil {
		g.t.Fatal(err)
	}
	parent := g.tip(id.Ref())
	if parent == git.Zero {
		parent = ""
	}
	if forged == "" {
		forged = string(data)
	}
	g.push(id.Ref(), g.commit(parent, uow.File, forged))
}

// verdict puts a verdict into the note on a commit.
func (g *guarded) verdict(on string, v loop.Verdict) {
	g.t.Helper()
	line, err := v.Line()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.AppendNote(g.t.Context(), loop.VerdictsRef, on, append(line, '\n')); err != nil {
		g.t.Fatal(err)
	}
}

// claimed is a claim's verdict, as it should be.
func (g *guarded) claimed() loop.Verdict {
	g.t.Helper()
	claim := g.unit("D-1.1", uow.Iterate, uow.MakeClaim)
	return loop.Verdict{Unit: "D-1.1", Commit: claim.Claim.Commit, DirectiveHash: claim.DirectiveHash, Claim: claim.Hash, Record: claim.Claim.Record, Verdict: loop.None}
}

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// key is a new key that the host signs verdicts with.
func (g *guarded) key() ssh.Signer {
	g.t.Helper()
	key := newKey(g.t)
	g.write(attest.PublicFile, string(ssh.MarshalAuthorizedKey(key.PublicKey())))
	return key
}

// sign puts a verdict's attestation on a commit.
func (g *guarded) sign(key ssh.Signer, on string, v loop.Verdict) {
	g.t.Helper()
	s, err := attest.Of(v)
	if err != nil {
		g.t.Fatal(err)
	}
	payload, err := json.Marshal(s)
	if err != nil {
		g.t.Fatal(err)
	}
	line, err := envelope.Verdicts.Sign(g.t.Context(), payload, key)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.AppendNote(g.t.Context(), attest.Ref, on, line); err != nil {
		g.t.Fatal(err)
	}
}

// overwrite puts other bytes into a loose object's file.
func (g *guarded) overwrite(id string) {
	g.t.Helper()
	path := filepath.Join(g.Dir, "objects", id[:2], id[2:])
	if err := os.Chmod(path, 0o644); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// notesTree is a commit on the audit's notes with one file in place of them all.
func (g *guarded) notesTree(path, text string) {
	g.move(state.AuditNotes, g.commit(g.tip(state.AuditNotes), path, text))
}

// findings are "severity rule: message" of a run.
func (g *guarded) findings(o Options) (found []string, r *Result) {
	g.t.Helper()
	r, err := Run(g.t.Context(), g.Repo, o)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, d := range r.Findings {
		severity := ""
		if !d.IsError() {
			severity = "warning "
		}
		found = append(found, severity+d.Rule+": "+d.Message)
		if d.Hint == "" {
			g.t.Errorf("no remedy for %s", d.Message)
		}
	}
	return found, r
}

// write puts a file into the repository's directory.
func (g *guarded) write(path, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.Dir, path), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}
