package fsck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
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
	g := &guarded{Repo: git.Open(filepath.Join(t.TempDir(), "r.git")), t: t}
	once.Do(func() { whole, wholeWhen = makeGuarded(t) })
	if whole == "" {
		t.Fatal("the repository was not made: see the first failure")
	}
	if err := os.CopyFS(g.Dir, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	g.when = wholeWhen
	return g
}

// whole is the repository that tests copy; TestMain removes it.
var (
	once      sync.Once
	whole     string
	wholeWhen time.Time
)

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(whole)
	os.Exit(code)
}

func makeGuarded(t *testing.T) (dir string, when time.Time) {
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
	return dir, g.when
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

// reasons are why the agent does what.
var reasons = map[uow.Event]uow.Reason{uow.Open: "DIRECTIVE_OPEN", uow.Activate: "WORK_STARTED", uow.Iterate: "ITERATION_STARTED", uow.MakeClaim: "WORK_CLAIMED"}

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
		}
		id, next := g.next(name, in)
		g.journal(id, next, "")
		last = next
	}
	return last
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
	g.move(audit.NotesRef, g.commit(g.tip(audit.NotesRef), path, text))
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

// damages are what may happen to a repository: want is the begin of each finding, and
// repaired what --repair says; a repository is whole after it, but for what remains.
var damages = []struct {
	name     string
	damage   func(*guarded)
	want     []string
	repaired []string
	remains  []string
}{
	{name: "nothing", damage: func(*guarded) {}},
	{
		name:    "a ref that somebody moved on the host",
		damage:  func(g *guarded) { g.move("refs/heads/main", g.commit("", "x", "y")) },
		want:    []string{"fsck/unrecorded: is at "},
		remains: []string{"fsck/unrecorded: is at "},
	},
	{
		name: "moves that do not link up",
		damage: func(g *guarded) {
			main := g.tip("refs/heads/main")
			g.record(&audit.Record{Refs: []audit.Ref{{Update: push.Update{Ref: "refs/heads/main", Old: g.tip(uow.RefPrefix + "D-1.1"), New: main}, Applied: true}}})
		},
		want:    []string{"fsck/gap: the recorded moves of the ref do not link up"},
		remains: []string{"fsck/gap: the recorded moves of the ref do not link up"},
	},
	{
		name: "a cut end of the chain",
		damage: func(g *guarded) {
			g.push("refs/heads/a", g.tip("refs/heads/main"))
			g.move(audit.ChainRef, g.git("rev-parse", audit.ChainRef+"^"))
		},
		want:     []string{"fsck/tail: its end was cut: the reflog knows record 5", "fsck/tail: the note on ", "fsck/unrecorded: is at "},
		repaired: []string{"put back the end of the chain, up to record 5"},
	},
	{
		name: "a cut end, and records since",
		damage: func(g *guarded) {
			g.push("refs/heads/a", g.tip("refs/heads/main"))
			g.move(audit.ChainRef, g.git("rev-parse", audit.ChainRef+"^"))
			g.push("refs/heads/b", g.tip("refs/heads/main"))
		},
		want:     []string{"fsck/notes: the note on ", "fsck/tail: its end was cut and others were recorded since", "fsck/unrecorded: is at "},
		repaired: []string{"rebuilt refs/notes/audit from the chain"},
		remains:  []string{"fsck/tail: its end was cut and others were recorded since", "fsck/unrecorded: is at "},
	},
	{
		name:    "a reflog that is gone",
		damage:  func(g *guarded) { os.Remove(filepath.Join(g.Dir, "logs", audit.ChainRef)) },
		want:    []string{"warning fsck/tail: it has no reflog"},
		remains: []string{"warning fsck/tail: it has no reflog"},
	},
	{
		name: "a record that is none",
		damage: func(g *guarded) {
			g.move(audit.ChainRef, g.commit(g.tip(audit.ChainRef), "record.json", "{}x"))
		},
		want:     []string{"fsck/chain: record 5 cannot be read"},
		repaired: []string{"set 1 record of the chain aside"},
		remains:  []string{"warning fsck/chain: record 5 cannot be read, and was set aside"},
	},
	{
		name: "a record by hand",
		damage: func(g *guarded) {
			text := g.git("cat-file", "blob", audit.ChainRef+":record.json")
			g.move(audit.ChainRef, g.commit(g.tip(audit.ChainRef), "record.json", strings.Replace(text, `"id":4`, `"id": 9`, 1)))
		},
		want:     []string{"fsck/chain: commit ", "fsck/chain: record 9 is not in canonical form", "fsck/gap: ", "fsck/notes: the note on "},
		repaired: []string{"rebuilt refs/notes/audit from the chain"},
		remains:  []string{"fsck/chain: commit ", "fsck/chain: record 9 is not in canonical form", "fsck/gap: "},
	},
	{
		name: "a damaged record in the middle",
		damage: func(g *guarded) {
			g.overwrite(g.git("rev-parse", audit.ChainRef+"~2:record.json"))
		},
		want:     []string{"fsck/chain: record 2 cannot be read", "fsck/notes: the note on ", "fsck/unrecorded: "},
		repaired: []string{"set 1 record of the chain aside"},
		remains:  []string{"warning fsck/chain: record 2 cannot be read, and was set aside"},
	},
	{
		name:     "notes that are gone",
		damage:   func(g *guarded) { g.move(audit.NotesRef, git.Zero) },
		want:     []string{"fsck/notes: the note on ", "fsck/notes: the note on "},
		repaired: []string{"rebuilt refs/notes/audit from the chain"},
	},
	{
		name:     "a file that is no note",
		damage:   func(g *guarded) { g.notesTree("README", "x") },
		want:     []string{`fsck/notes: "README" is not a note`, "fsck/notes: the note on "},
		repaired: []string{"rebuilt refs/notes/audit from the chain"},
	},
	{
		name: "a line that the chain does not have",
		damage: func(g *guarded) {
			if err := g.AppendNote(g.t.Context(), audit.NotesRef, "refs/heads/main", []byte("{\"id\":1}\n")); err != nil {
				g.t.Fatal(err)
			}
		},
		want:     []string{"fsck/notes: the note on "},
		repaired: []string{"rebuilt refs/notes/audit from the chain"},
	},
	{
		name:     "a file of a push that nobody can read",
		damage:   func(g *guarded) { g.write("ward/pending/20261121T090000Z-00.json", "{") },
		want:     []string{"fsck/pending: 1 push ended without a record"},
		repaired: []string{"recorded 0 unfinished pushes", "set ward/pending/20261121T090000Z-00.json aside, which cannot be read"},
		remains:  []string{"warning fsck/aside: ward/aside/20261121T090000Z-00.json is the trace of a push"},
	},
	{
		name: "settings that the chain does not hold",
		damage: func(g *guarded) {
			text := g.git("cat-file", "blob", audit.ChainRef+":record.json")
			text = strings.Replace(text, `"counts"`, `"config":"`+strings.Repeat("0", 64)+`","counts"`, 1)
			g.move(audit.ChainRef, g.commit(g.git("rev-parse", audit.ChainRef+"^"), "record.json", text))
		},
		want:     []string{"fsck/config: record 4 was judged by settings that the chain does not hold", "fsck/notes: ", "fsck/tail: its end was cut and others"},
		repaired: []string{"rebuilt refs/notes/audit from the chain"},
		remains:  []string{"fsck/config: record 4 was judged by settings that the chain does not hold", "fsck/tail: its end was cut and others"},
	},
	{
		name: "a record of a unit with another sum",
		damage: func(g *guarded) {
			id, next := g.next("D-1.1", uow.Input{Event: uow.Iterate, Actor: uow.Agent, Reason: "ITERATION_STARTED", Interactions: 1})
			data, err := next.Marshal()
			if err != nil {
				g.t.Fatal(err)
			}
			g.journal(id, next, strings.Replace(string(data), `"retries":0`, `"retries":1`, 1))
		},
		want:    []string{"fsck/unit: commit "},
		remains: []string{"fsck/unit: commit "},
	},
	{
		name: "a journal that is no unit's",
		damage: func(g *guarded) {
			g.push(uow.RefPrefix+"notes", g.commit("", uow.File, "{}"))
		},
		want:    []string{`fsck/unit: "notes" is not a unit's id`},
		remains: []string{`fsck/unit: "notes" is not a unit's id`},
	},
	{
		name: "a verdict that no claim asked for",
		damage: func(g *guarded) {
			main := g.tip("refs/heads/main")
			g.verdict(main, loop.Verdict{Unit: "D-1.1", Commit: main, DirectiveHash: strings.Repeat("d", 64), Claim: strings.Repeat("c", 64), Verdict: loop.None})
		},
		want:    []string{"fsck/verdict: the note on "},
		remains: []string{"fsck/verdict: the note on "},
	},
	{
		name: "a verdict that was copied",
		damage: func(g *guarded) {
			claim := g.unit("D-1.1", uow.Iterate, uow.MakeClaim)
			v := loop.Verdict{Unit: "D-1.1", Commit: claim.Claim.Commit, DirectiveHash: claim.DirectiveHash, Claim: claim.Hash, Verdict: loop.None}
			g.verdict(claim.Claim.Commit, v) // as it should be
			g.verdict(g.git("rev-parse", "main^"), v)
		},
		want:    []string{"fsck/verdict: the note on "},
		remains: []string{"fsck/verdict: the note on "},
	},
	{
		name: "a line that is no verdict",
		damage: func(g *guarded) {
			if err := g.AppendNote(g.t.Context(), loop.VerdictsRef, "refs/heads/main", []byte("EXACT!\n")); err != nil {
				g.t.Fatal(err)
			}
		},
		want:    []string{"fsck/verdict: the note on "},
		remains: []string{"fsck/verdict: the note on "},
	},
	{
		name:    "a manifest that is none",
		damage:  func(g *guarded) { g.evidence("loop/manifest.json", "{}x") },
		want:    []string{"fsck/evidence: evidence/D-1/loop/manifest.json: "},
		remains: []string{"fsck/evidence: evidence/D-1/loop/manifest.json: "},
	},
	{
		name: "a manifest of a file that is not there",
		damage: func(g *guarded) {
			g.evidence("loop/manifest.json", `{"schema_version":"1","artifacts":[{"file_path":"evidence/D-1/gone","sha256":"`+strings.Repeat("0", 64)+`"}]}`)
		},
		want:    []string{"fsck/evidence: evidence/D-1/gone is missing"},
		remains: []string{"fsck/evidence: evidence/D-1/gone is missing"},
	},
}

// write puts a file into the repository's directory.
func (g *guarded) write(path, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.Dir, path), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// evidence pushes a branch with one file below evidence/D-1/.
func (g *guarded) evidence(path, text string) {
	g.t.Helper()
	for _, dir := range slices.Backward(strings.Split("evidence/D-1/"+path, "/")) {
		if text != "" {
			id, err := g.WriteObject("blob", []byte(text))
			if err != nil {
				g.t.Fatal(err)
			}
			text, path = "", fmt.Sprintf("100644 blob %s\t%s\n", id, dir)
			continue
		}
		path = "040000 tree " + g.mktree(path) + "\t" + dir + "\n"
	}
	commit, err := g.CommitTree(git.Ward, g.mktree(path), "", g.when, "test")
	if err != nil {
		g.t.Fatal(err)
	}
	g.push("refs/heads/agent/D-1", commit)
}

func (g *guarded) mktree(entry string) string {
	g.t.Helper()
	out, err := g.OutputFrom(g.t.Context(), []byte(entry), "mktree")
	if err != nil {
		g.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestFindings: each break is found, and nothing else; --repair mends what can be
// mended, says so, and leaves what the host's admin has to look at.
func TestFindings(t *testing.T) {
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			c.damage(g)
			found, r := g.findings(Options{})
			match(t, "found", found, c.want)
			if testing.Short() {
				return // the proof again, and the repair, take twice as long as all that was tried so far
			}
			if again, _ := g.findings(Options{}); !slices.Equal(again, found) || len(r.Repaired) > 0 {
				t.Errorf("looking changed it: %q", again)
			}
			_, repaired := g.findings(Options{Repair: true})
			if !slices.Equal(repaired.Repaired, c.repaired) {
				t.Errorf("repaired %q, want %q", repaired.Repaired, c.repaired)
			}
			left, _ := g.findings(Options{})
			match(t, "left", left, c.remains)
		})
	}
}

// match compares findings with the beginnings that are wanted, each of which may begin
// several of them in a row.
func match(t *testing.T, what string, found, want []string) {
	t.Helper()
	rest := slices.Clone(want)
	for _, f := range found {
		i := slices.IndexFunc(want, func(w string) bool { return strings.HasPrefix(f, w) })
		if i < 0 {
			t.Errorf("%s %q, which was not expected", what, f)
			continue
		}
		rest = slices.DeleteFunc(rest, func(w string) bool { return strings.HasPrefix(f, w) })
	}
	for _, w := range rest {
		t.Errorf("%s no %q in %q", what, w, found)
	}
}

// TestCounts: the result counts what was read.
func TestCounts(t *testing.T) {
	g := newGuarded(t)
	claim := g.unit("D-1.1", uow.Iterate, uow.MakeClaim)
	g.verdict(claim.Claim.Commit, loop.Verdict{Unit: "D-1.1", Commit: claim.Claim.Commit, DirectiveHash: claim.DirectiveHash, Claim: claim.Hash, Verdict: loop.None})
	if found, r := g.findings(Options{}); len(found) > 0 || r.Records != 6 || r.UnitRecords != 4 || r.Verdicts != 1 || r.Notes != 6 {
		t.Errorf("%q %+v", found, r)
	}
}

// TestNoAudit: a repository without an audit is told so, and not looked at further.
func TestNoAudit(t *testing.T) {
	g := newGuarded(t)
	g.move(audit.ChainRef, git.Zero)
	if found, _ := g.findings(Options{}); len(found) != 1 || found[0] != "fsck/chain: there is no audit chain" {
		t.Errorf("%q", found)
	}
}

// TestForeignRefs: what a forge moves by itself is nobody's finding, also after the
// setting that says so has gone: the chain keeps it.
func TestForeignRefs(t *testing.T) {
	settings := config.Default()
	settings.Audit.Foreign = nil
	c := &chainProof{settings: settings}
	if c.foreign("refs/pull/1/head") {
		t.Fatal("a ref is a forge's that no setting names")
	}
	before := *settings
	before.Audit.Foreign = []string{"refs/pull/"}
	c.past = []*config.Config{&before}
	if !c.foreign("refs/pull/1/head") || c.foreign("refs/heads/main") {
		t.Error("the settings that the chain keeps do not count")
	}
}

// TestEnds: a context that is over ends a run.
func TestEnds(t *testing.T) {
	g := newGuarded(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, g.Repo, Options{}); err == nil {
		t.Error("it went on")
	}
}
