package fsck

import (
	"context"
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
	"git-ward/protocols/boot"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// whole and wholeUnit are the repositories that tests copy, each made once; TestMain
// removes them.
var (
	once, onceUnit sync.Once
	whole          *guarded
	wholeUnit      *recorded
)

func TestMain(m *testing.M) {
	code := m.Run()
	if whole != nil {
		os.RemoveAll(whole.Dir)
	}
	if wholeUnit != nil {
		os.RemoveAll(filepath.Dir(wholeUnit.Dir))
	}
	os.Exit(code)
}

// reasons are why the agent does what.
var reasons = map[uow.Event]uow.Reason{uow.Open: "DIRECTIVE_OPEN", uow.Activate: "WORK_STARTED", uow.Iterate: "ITERATION_STARTED", uow.MakeClaim: "WORK_CLAIMED"}

// goodFindings are those of a list of programs that held which has holes and other things.
var goodFindings = []string{
	"fsck/good: refs/ward/boot/before/1 is missing before it",
	"fsck/good: it is no ref of the programs that held",
	"fsck/good: it is no ref of the programs that held",
	"fsck/good: it is no ref of the programs that held",
	"fsck/good: it is no commit that is stored",
	"fsck/good: refs/ward/boot/trials/D-1/2 is missing before it",
	"fsck/good: refs/ward/boot/pin/from is missing beside it",
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
		name: "refs whose files are broken", // git for-each-ref lists neither
		damage: func(g *guarded) {
			g.write("refs/ward/uow/D-1.2", "")
			g.write("refs/heads/y", strings.Repeat("0", 40)+"\n")
		},
		want:    []string{"fsck/ref: its file holds no object's id: git refuses every push", "fsck/ref: its file holds no object's id: git refuses every push"},
		remains: []string{"fsck/ref: its file holds no object's id: git refuses every push", "fsck/ref: its file holds no object's id: git refuses every push"},
	},
	{
		name:    "a journal whose object is not stored",
		damage:  func(g *guarded) { g.write("refs/ward/uow/D-1.2", strings.Repeat("1", 40)+"\n") },
		want:    []string{"fsck/ref: 111111111111 is not stored: git refuses every push", "fsck/ref: what comes after them cannot be read: D-1.2: ", "fsck/unrecorded: is at "},
		remains: []string{"fsck/ref: 111111111111 is not stored: git refuses every push", "fsck/ref: what comes after them cannot be read: D-1.2: ", "fsck/unrecorded: is at "},
	},
	{
		name: "names of other refs among Ward's own", // git for-each-ref lists neither
		damage: func(g *guarded) {
			g.git("symbolic-ref", "refs/ward/lease/D-1", "refs/ward/lease/D-1")
			g.git("symbolic-ref", "refs/heads/agent/D-9", "refs/heads/none")
		},
		want:    []string{"fsck/ref: it is a symbolic ref to refs/heads/none: ", "fsck/ref: it is a symbolic ref to refs/ward/lease/D-1: "},
		remains: []string{"fsck/ref: it is a symbolic ref to refs/heads/none: ", "fsck/ref: it is a symbolic ref to refs/ward/lease/D-1: "},
	},
	{
		name: "a branch of the settings that is another's name",
		damage: func(g *guarded) {
			g.git("update-ref", "refs/heads/trunk", "refs/heads/main")
			g.git("symbolic-ref", "refs/heads/main", "refs/heads/trunk")
		},
		want:    []string{"fsck/ref: it is a symbolic ref to refs/heads/trunk, and the gate refuses", "fsck/unrecorded: is at "},
		remains: []string{"fsck/ref: it is a symbolic ref to refs/heads/trunk, and the gate refuses", "fsck/unrecorded: is at "},
	},
	{
		name:   "a lease by which a unit is put away whose directive is gone",
		damage: func(g *guarded) { g.lease("D-1", time.Now()) },
	},
	{
		name:    "a lease that nobody renews, of a directive that is gone",
		damage:  func(g *guarded) { g.lease("D-1", time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)) },
		want:    []string{"fsck/lease: robo has the lease of D-1, and there is no such directive"},
		remains: []string{"fsck/lease: robo has the lease of D-1, and there is no such directive"},
	},
	{
		name:    "a lease of a directive that never was",
		damage:  func(g *guarded) { g.lease("D-2", time.Now()) },
		want:    []string{"fsck/lease: robo has the lease of D-2, and there is no such directive"},
		remains: []string{"fsck/lease: robo has the lease of D-2, and there is no such directive"},
	},
	{
		name: "programs that held, and one that fell",
		damage: func(g *guarded) {
			for _, ref := range []string{boot.LastGood, boot.GoodRef(1), boot.PassedRef("D-1"), boot.Fallen, boot.PinFrom, boot.PinTo, boot.Prefix + "deaths/1", boot.Prefix + "deaths/2", boot.Prefix + "trials/D-1/1", boot.Prefix + "idle/1"} {
				g.move(ref, g.tip("refs/heads/main"))
			}
		},
	},
	{
		name: "programs that held, with holes and other things",
		damage: func(g *guarded) {
			main := g.tip("refs/heads/main")
			g.move(boot.GoodRef(2), main)
			g.move(boot.GoodRef(boot.MaxGood), main)
			g.move(boot.PassedPrefix+"2", main)
			g.move(boot.LastGood, main)
			g.move(boot.PinTo, main)
			g.move(boot.Prefix+"trials/D-1/3", main)
			g.move(boot.Prefix+"deaths/7", main)
			tree, _ := g.Output(g.t.Context(), "rev-parse", main+"^{tree}")
			g.move(boot.Fallen, strings.TrimSpace(string(tree)))
		},
		want:    goodFindings,
		remains: goodFindings,
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
			g.move(state.AuditRef, g.git("rev-parse", state.AuditRef+"^"))
		},
		want:     []string{"fsck/tail: its end was cut: the reflog knows record 5", "fsck/tail: the note on ", "fsck/unrecorded: is at "},
		repaired: []string{"put back the end of the chain, up to record 5"},
	},
	{
		name: "a cut end, and records since",
		damage: func(g *guarded) {
			g.push("refs/heads/a", g.tip("refs/heads/main"))
			g.move(state.AuditRef, g.git("rev-parse", state.AuditRef+"^"))
			g.push("refs/heads/b", g.tip("refs/heads/main"))
		},
		want:     []string{"fsck/notes: the note on ", "fsck/tail: its end was cut and others were recorded since", "fsck/unrecorded: is at "},
		repaired: []string{"rebuilt refs/notes/audit from the chain"},
		remains:  []string{"fsck/tail: its end was cut and others were recorded since", "fsck/unrecorded: is at "},
	},
	{
		name:    "a reflog that is gone",
		damage:  func(g *guarded) { os.Remove(filepath.Join(g.Dir, "logs", state.AuditRef)) },
		want:    []string{"warning fsck/tail: it has no reflog"},
		remains: []string{"warning fsck/tail: it has no reflog"},
	},
	{
		name: "a record that is none",
		damage: func(g *guarded) {
			g.move(state.AuditRef, g.commit(g.tip(state.AuditRef), "record.json", "{}x"))
		},
		want:     []string{"fsck/chain: record 5 cannot be read"},
		repaired: []string{"set 1 record of the chain aside"},
		remains:  []string{"warning fsck/chain: record 5 cannot be read, and was set aside"},
	},
	{
		name: "a record of a newer Ward, damage behind it", // which is not to be set aside
		damage: func(g *guarded) {
			text := strings.Replace(g.git("cat-file", "blob", state.AuditRef+":record.json"), `"id":4`, `"id":5,"format":3,"signers":3`, 1)
			g.move(state.AuditRef, g.commit(g.tip(state.AuditRef), "record.json", text))
			g.move(state.AuditNotes, git.Zero)
		},
		want:    []string{"fsck/newer: record 5: the record is of a newer Ward (format 3; this one reads up to 2)"},
		remains: []string{"fsck/newer: record 5: "},
	},
	{
		name: "a record by hand",
		damage: func(g *guarded) {
			text := g.git("cat-file", "blob", state.AuditRef+":record.json")
			g.move(state.AuditRef, g.commit(g.tip(state.AuditRef), "record.json", strings.Replace(text, `"id":4`, `"id": 9`, 1)))
		},
		want:     []string{"fsck/chain: commit ", "fsck/chain: record 9 is not in canonical form", "fsck/gap: ", "fsck/notes: the note on "},
		repaired: []string{"rebuilt refs/notes/audit from the chain"},
		remains:  []string{"fsck/chain: commit ", "fsck/chain: record 9 is not in canonical form", "fsck/gap: "},
	},
	{
		name: "a damaged record in the middle",
		damage: func(g *guarded) {
			g.overwrite(g.git("rev-parse", state.AuditRef+"~2:record.json"))
		},
		want:     []string{"fsck/chain: record 2 cannot be read", "fsck/notes: the note on ", "fsck/unrecorded: "},
		repaired: []string{"set 1 record of the chain aside"},
		remains:  []string{"warning fsck/chain: record 2 cannot be read, and was set aside"},
	},
	{
		name:     "notes that are gone",
		damage:   func(g *guarded) { g.move(state.AuditNotes, git.Zero) },
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
			if err := g.AppendNote(g.t.Context(), state.AuditNotes, "refs/heads/main", []byte("{\"id\":1}\n")); err != nil {
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
			text := g.git("cat-file", "blob", state.AuditRef+":record.json")
			text = strings.Replace(text, `"counts"`, `"config":"`+strings.Repeat("0", 64)+`","counts"`, 1)
			g.move(state.AuditRef, g.commit(g.git("rev-parse", state.AuditRef+"^"), "record.json", text))
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
			v := loop.Verdict{Unit: "D-1.1", Commit: claim.Claim.Commit, DirectiveHash: claim.DirectiveHash, Claim: claim.Hash, Record: claim.Claim.Record, Verdict: loop.None}
			g.verdict(claim.Claim.Commit, v) // as it should be
			g.verdict(g.git("rev-parse", "main^"), v)
		},
		want:    []string{"fsck/verdict: the note on "},
		remains: []string{"fsck/verdict: the note on "},
	},
	{
		name: "a verdict that the host signed",
		damage: func(g *guarded) {
			v := g.claimed()
			g.sign(g.key(), v.Commit, v)
			g.verdict(v.Commit, v)
		},
	},
	{
		name: "a verdict that is not the one that the host signed",
		damage: func(g *guarded) {
			v := g.claimed()
			g.sign(g.key(), v.Commit, v)
			v.Reason = "somebody says so"
			g.verdict(v.Commit, v)
		},
		want:    []string{"fsck/attestation: the verdict on "},
		remains: []string{"fsck/attestation: the verdict on "},
	},
	{
		name: "an attestation by nobody known, and one that was copied",
		damage: func(g *guarded) {
			v := g.claimed()
			g.verdict(v.Commit, v)
			g.sign(newKey(g.t), v.Commit, v)
			g.sign(g.key(), g.git("rev-parse", "main^"), v)
		},
		want:    []string{"fsck/attestation: the note on ", "fsck/attestation: the note on "},
		remains: []string{"fsck/attestation: the note on ", "fsck/attestation: the note on "},
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
	g.verdict(claim.Claim.Commit, loop.Verdict{Unit: "D-1.1", Commit: claim.Claim.Commit, DirectiveHash: claim.DirectiveHash, Claim: claim.Hash, Record: claim.Claim.Record, Verdict: loop.None})
	if found, r := g.findings(Options{}); len(found) > 0 || r.Records != 7 || r.UnitRecords != 4 || r.Verdicts != 1 || r.Notes != 7 {
		t.Errorf("%q %+v", found, r)
	}
}

// TestNoAudit: a repository without an audit is told so, and not looked at further.
func TestNoAudit(t *testing.T) {
	g := newGuarded(t)
	g.move(state.AuditRef, git.Zero)
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
