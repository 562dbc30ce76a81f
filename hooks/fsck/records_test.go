package fsck

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"git-ward/internal/git"
	"git-ward/internal/object"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// recorded is a unit of the second layout in a guarded repository.
type recorded struct {
	*guarded
	id    uow.ID
	tip   string // of the record
	claim *uow.Record
	newer *loop.Link // the newest manifest
}

// newRecorded is a unit with two iterations: each leaves a work commit, artifacts of it,
// a manifest and a claim. It is a copy of one that is made once.
func newRecorded(t *testing.T) *recorded {
	t.Helper()
	onceUnit.Do(func() {
		dir, err := os.MkdirTemp("", "ward-test-fsck-")
		if err != nil {
			t.Fatal(err)
		}
		wholeUnit = makeRecorded(newGuarded(t).copy(t, dir))
	})
	if wholeUnit == nil {
		t.Fatal("the unit was not made: see the first failure")
	}
	r := *wholeUnit
	r.guarded = wholeUnit.guarded.copy(t, t.TempDir())
	return &r
}

func makeRecorded(g *guarded) *recorded {
	r := &recorded{guarded: g, id: uow.ID{Directive: "D-1", K: 1}}
	r.commit("", map[string]string{"LEARNINGS.md": ""})
	for n := range 2 {
		r.iteration(n)
	}
	r.branch()
	return r
}

// branch has the newest work, as a branch of the agent's.
func (r *recorded) branch() { r.push("refs/heads/agent/D-1", r.claim.Claim.Commit) }

// commit puts a commit on the record, which speaks of others.
func (r *recorded) commit(speaks string, files map[string]string) string {
	r.t.Helper()
	c := object.Commit{Who: object.Signature("T", "t@example.org", r.when), Message: "record\n"}
	base := ""
	if r.tip != "" {
		c.Parents = append(c.Parents, r.tip)
		base = r.git("rev-parse", r.tip+"^{tree}")
	}
	c.Parents = append(c.Parents, strings.Fields(speaks)...)
	content := map[string][]byte{}
	for path, text := range files {
		content[path] = []byte(text)
	}
	id, err := object.Open(r.Dir).WriteCommit(base, content, c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.tip = id
	return id
}

func (r *recorded) iteration(n int) {
	r.t.Helper()
	_, next := r.next("D-1.1", uow.Input{Event: uow.Iterate, Actor: uow.Agent, Reason: "ITERATION_STARTED", Interactions: 1})
	r.journal(r.id, next, "")
	text := fmt.Sprintf("work %d\n", n)
	work := r.guarded.commit(r.onto(), "work.txt", text)
	dir := loop.IterationDir("D-1", n)
	changes := fmt.Sprintf("changes %d\n", n)
	made := encode(r.t, loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: "D-1.1", Artifacts: []loop.Artifact{
		{Iteration: n, Path: "work.txt", SHA256: loop.Digest([]byte(text)), Role: "code"},
		{Iteration: n, Path: dir + "/changes.txt", SHA256: loop.Digest([]byte(changes)), Role: "log"},
	}})
	speaks := r.commit(work, map[string]string{dir + "/artifacts.json": made, dir + "/changes.txt": changes})
	manifest := encode(r.t, loop.Artifacts{SchemaVersion: loop.LinearVersion, LoopID: "D-1.1", Previous: r.newer, Artifacts: []loop.Artifact{
		{Iteration: n, Path: dir + "/artifacts.json", SHA256: loop.Digest([]byte(made)), Role: "log"},
	}})
	r.newer = &loop.Link{Path: dir + "/manifest.json", SHA256: loop.Digest([]byte(manifest)), Role: "snapshot"}
	r.commit("", map[string]string{dir + "/manifest.json": manifest, "evidence/D-1/loop/manifest.json": manifest})
	r.push(record.Ref(r.id), r.tip)
	_, r.claim = r.next("D-1.1", uow.Input{Event: uow.MakeClaim, Actor: uow.Agent, Reason: "WORK_CLAIMED", Interactions: 1, Commit: work, Record: speaks})
	r.journal(r.id, r.claim, "")
}

// onto is what the next work commit stands on.
func (r *recorded) onto() string {
	if r.claim == nil {
		return r.guarded.tip("refs/heads/main")
	}
	return r.claim.Claim.Commit
}

// lose removes a loose object.
func (r *recorded) lose(id string) {
	r.t.Helper()
	if err := os.Remove(filepath.Join(r.Dir, "objects", id[:2], id[2:])); err != nil {
		r.t.Fatal(err)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// recordDamages are what may happen to a record.
var recordDamages = []struct {
	name   string
	damage func(*recorded)
	want   []string // begins of findings
}{
	{"nothing", func(*recorded) {}, nil},
	{"moved back", func(r *recorded) { r.push(record.Ref(r.id), r.git("rev-parse", r.tip+"~3")) }, []string{
		"fsck/record: it does not have the commit ",
	}},
	{"moved back past the hooks", func(r *recorded) { r.move(record.Ref(r.id), r.git("rev-parse", r.tip+"^")) }, []string{
		"fsck/unrecorded: is at ",
	}},
	{"deleted", func(r *recorded) { r.push(record.Ref(r.id), git.Zero) }, []string{"fsck/record: D-1.1 has no record any more, and its journal says that it kept one"}},
	{"forked", func(r *recorded) {
		fork := r.tip
		r.tip = r.git("rev-parse", fork+"~2")
		r.push(record.Ref(r.id), r.commit(r.claim.Claim.Commit, map[string]string{"LEARNINGS.md": "another\n"}))
	}, []string{"fsck/record: it does not have the commit "}},
	{"of work that is gone", func(r *recorded) {
		r.push("refs/heads/agent/D-1", git.Zero)
		r.lose(r.claim.Claim.Commit)
	}, []string{"fsck/record: the work commit ", "fsck/evidence: work.txt is missing"}},
	{"whose own commit is gone", func(r *recorded) { r.lose(r.git("rev-parse", r.tip+"~2")) }, []string{"fsck/record: git cannot walk it: "}},
	{"that speaks of other work", func(r *recorded) {
		_, c := r.next("D-1.1", uow.Input{Event: uow.Iterate, Actor: uow.Agent, Reason: "ITERATION_STARTED", Interactions: 1})
		r.journal(r.id, c, "")
		_, c = r.next("D-1.1", uow.Input{Event: uow.MakeClaim, Actor: uow.Agent, Reason: "WORK_CLAIMED", Interactions: 1, Commit: r.guarded.tip("refs/heads/main"), Record: r.claim.Claim.Record})
		r.journal(r.id, c, "")
	}, []string{"fsck/record: commit "}},
	{"with a path that is not listed", func(r *recorded) {
		r.commit("", map[string]string{"src/main.go": "package main\n"})
		r.push(record.Ref(r.id), r.commit("", map[string]string{"src/main.go": "package main // again\n"}))
	}, []string{"fsck/record: commit "}},
	{"with another directive's evidence", func(r *recorded) {
		r.push(record.Ref(r.id), r.commit("", map[string]string{"evidence/D-2/loop/plan.json": "{}"}))
	}, []string{"fsck/record: commit "}},
	{"with three parents", func(r *recorded) {
		r.push(record.Ref(r.id), r.commit(r.claim.Claim.Commit+" "+r.guarded.tip("refs/heads/main"), map[string]string{"LEARNINGS.md": "x\n"}))
	}, []string{"fsck/record: commit "}},
	{"with a manifest that is none", func(r *recorded) {
		r.push(record.Ref(r.id), r.commit("", map[string]string{"evidence/D-1/loop/manifest.json": "{}x"}))
	}, []string{"fsck/evidence: evidence/D-1/loop/manifest.json: "}},
	{"with a manifest of a file that is not there", func(r *recorded) {
		r.push(record.Ref(r.id), r.commit("", map[string]string{"evidence/D-1/loop/manifest.json": `{"artifacts":[{"file_path":"evidence/D-1/gone"}]}`}))
	}, []string{"fsck/evidence: evidence/D-1/gone is missing"}},
	{"with evidence that was changed", func(r *recorded) {
		r.push(record.Ref(r.id), r.commit("", map[string]string{"evidence/D-1/loop/iter_0/artifacts.json": "{}"}))
	}, []string{"fsck/evidence: evidence/D-1/loop/iter_0/artifacts.json has another hash than the manifest says"}},
	{"with a file of the work that was another", func(r *recorded) {
		made := encode(r.t, loop.Artifacts{SchemaVersion: loop.SchemaVersion, LoopID: "D-1.1", Artifacts: []loop.Artifact{
			{Iteration: 2, Path: "work.txt", SHA256: loop.Digest([]byte("never\n")), Role: "code"}}})
		r.push(record.Ref(r.id), r.commit(r.claim.Claim.Commit, map[string]string{"evidence/D-1/loop/iter_2/artifacts.json": made}))
	}, []string{"fsck/evidence: work.txt has another hash than the manifest says"}},
	{"of no unit", func(r *recorded) { r.push(record.Prefix+"D-7.1", r.tip) }, []string{"fsck/record: there is no journal of its unit", "fsck/record: commit "}},
	{"that is no unit's name", func(r *recorded) { r.push(record.Prefix+"notes", r.tip) }, []string{`fsck/record: "notes" is not a unit's id`}},
	{"a verdict that names another commit of it", func(r *recorded) {
		r.verdict(r.claim.Claim.Commit, loop.Verdict{Unit: "D-1.1", Commit: r.claim.Claim.Commit, DirectiveHash: r.claim.DirectiveHash, Claim: r.claim.Hash, Record: r.tip, Verdict: loop.None})
	}, []string{"fsck/verdict: the note on "}},
}

// TestRecords: each break of a record is found and named, and nothing else.
func TestRecords(t *testing.T) {
	for _, c := range recordDamages {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRecorded(t)
			r.verdict(r.claim.Claim.Commit, loop.Verdict{Unit: "D-1.1", Commit: r.claim.Claim.Commit, DirectiveHash: r.claim.DirectiveHash, Claim: r.claim.Hash,
				Record: r.claim.Claim.Record, Verdict: loop.None})
			c.damage(r)
			found, _ := r.findings(Options{})
			match(t, "found", found, c.want)
			if again, _ := r.findings(Options{}); !slices.Equal(again, found) {
				t.Errorf("looking changed it: %q", again)
			}
		})
	}
}
