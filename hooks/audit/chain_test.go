package audit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// bare is a repository without hooks.
func bare(t *testing.T) *git.Repo {
	t.Helper()
	repo := git.Open(filepath.Join(t.TempDir(), "r.git"))
	cmd := exec.Command("git", "init", "-q", "--bare", "--initial-branch=main", repo.Dir)
	cmd.Env = repo.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if err := os.MkdirAll(pendingDir(repo), 0o700); err != nil {
		t.Fatal(err)
	}
	return repo
}

// id is an object id of one digit.
func id(digit string) string {
	if digit == "-" {
		return git.Zero
	}
	return strings.Repeat(digit, 40)
}

// chainOf is a chain of accepted pushes, each "ref old new" of one digit ids ("-" for
// none); one that begins with ! was refused.
func chainOf(moves ...string) (chain []Link) {
	for i, move := range moves {
		verdict := Accepted
		if rest, refused := strings.CutPrefix(move, "!"); refused {
			verdict, move = Refused, rest
		}
		f := strings.Fields(move)
		chain = append(chain, Link{Record: &Record{ID: int64(i + 1), Push: fmt.Sprint("push-", i), Verdict: verdict, Rules: []string{}, Time: time.Unix(int64(i), 0).UTC(),
			Refs: []Ref{{Update: push.Update{Ref: "refs/heads/" + f[0], Old: id(f[1]), New: id(f[2])}, Applied: verdict == Accepted}}}})
	}
	return chain
}

// TestGapsAndTips: where every move is recorded, the moves of a ref lead from nothing to
// its value, in whatever order the records stand.
func TestGapsAndTips(t *testing.T) {
	for _, c := range []struct{ moves, gaps, tips string }{
		{"", "", ""},
		{"a - 1", "", "a=1"},
		{"a - 1;a 1 2;a 2 3", "", "a=3"},
		{"a - 1;a 2 3;a 1 2", "", "a=3"}, // the second was recorded late
		{"a - 1;a 1 -", "", ""},
		{"a - 1;a 1 -;a - 2", "", "a=2"},
		{"a - 1;a 1 2;a 2 1", "", "a=1"}, // there and back
		{"a - 1;!a 1 2", "", "a=1"},
		{"a - 1;b - 2", "", "a=1 b=2"},
		{"a - 1;a 2 3", "refs/heads/a", "a=1"}, // somebody moved it from 1 to 2
		{"a - 1;a - 2", "refs/heads/a", "a=1"}, // or deleted it
		{"a 1 2", "refs/heads/a", "a=2"},       // or made it
		{"b 1 2;a 1 2;c - 1", "refs/heads/a refs/heads/b", "a=2 b=2 c=1"},
	} {
		var chain []Link
		if c.moves != "" {
			chain = chainOf(strings.Split(c.moves, ";")...)
		}
		if got := strings.Join(Gaps(chain), " "); got != c.gaps {
			t.Errorf("%s: gaps %q, want %q", c.moves, got, c.gaps)
		}
		var tips []string
		for ref, value := range recordedTips(chain) {
			tips = append(tips, strings.TrimPrefix(ref, "refs/heads/")+"="+value[:1])
		}
		slices.Sort(tips)
		if got := strings.Join(tips, " "); got != c.tips {
			t.Errorf("%s: tips %q, want %q", c.moves, got, c.tips)
		}
	}
}

// TestReadChain: a chain is read as it was written, also past a record that nobody can
// read, and what is not recorded is said.
func TestReadChain(t *testing.T) {
	repo := bare(t)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	if chain, err := ReadChain(t.Context(), repo, batch); err != nil || chain != nil {
		t.Fatal(chain, err)
	}
	main, err := repo.CommitFile("", "f", nil, time.Unix(0, 0), "main")
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.UpdateRefs(t.Context(), "test", git.RefUpdate{Ref: "refs/heads/main", Old: git.Zero, New: main}); err != nil {
		t.Fatal(err)
	}
	w, err := NewWriter(t.Context(), repo, batch)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	first := &Record{Push: "push-0", Time: time.Unix(0, 0).UTC(), Verdict: Accepted, Rules: []string{},
		Refs: []Ref{{Update: push.Update{Ref: "refs/heads/main", Old: git.Zero, New: main}, Applied: true}}}
	if err := w.Append(t.Context(), Entry{Record: first}); err != nil {
		t.Fatal(err)
	}
	top, err := tip(batch)
	if err != nil {
		t.Fatal(err)
	}
	broken, err := repo.CommitFile(top, recordFile, []byte("{}x"), time.Unix(1, 0), "broken")
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.UpdateRefs(t.Context(), "test", git.RefUpdate{Ref: state.AuditRef, Old: top, New: broken}); err != nil {
		t.Fatal(err)
	}
	second := &Record{Push: "push-2", Time: time.Unix(2, 0).UTC(), Verdict: Lost, Rules: []string{}}
	if err := w.Append(t.Context(), Entry{Record: second}); err != nil {
		t.Fatal(err)
	}
	chain, err := ReadChain(t.Context(), repo, batch)
	if err != nil || len(chain) != 3 {
		t.Fatal(len(chain), err)
	}
	for i, want := range []struct {
		push      string
		verdict   Verdict
		canonical bool
	}{{"push-0", Accepted, true}, {"", Broken, false}, {"push-2", Lost, true}} {
		if l := chain[i]; l.ID != int64(i+1) || l.Push != want.push || l.Verdict != want.verdict || l.Canonical != want.canonical || (l.Err != nil) != (want.verdict == Broken) {
			t.Errorf("link %d: %+v, %v", i+1, l.Record, l.Err)
		}
	}
	settings := config.Default()
	if r, err := Unrecorded(t.Context(), repo, settings, chain); err != nil || len(r.Refs) > 0 {
		t.Error(r, err)
	}
	if r, err := Unrecorded(t.Context(), repo, settings, nil); err != nil || len(r.Refs) != 1 || r.Refs[0] != first.Refs[0] {
		t.Error(r, err)
	}
	settings.Audit.Foreign = []string{"refs/heads/"}
	if r, err := Unrecorded(t.Context(), repo, settings, nil); err != nil || len(r.Refs) > 0 {
		t.Errorf("what a forge moves is Ward's: %v, %v", r, err)
	}
}

// TestFindPushes: a push is found among the records after a commit, by its id or by its
// moves.
func TestFindPushes(t *testing.T) {
	repo := bare(t)
	batch := repo.Batch(t.Context())
	defer batch.Close()
	var before string
	for i, l := range chainOf("a - 1", "a 1 2", "a 2 3") {
		if i == 2 {
			var err error
			if before, err = tip(batch); err != nil {
				t.Fatal(err)
			}
		}
		w, err := NewWriter(t.Context(), repo, batch)
		if err != nil {
			t.Fatal(err)
		}
		l.Record.Verdict = Lost // objects that are not there have no notes
		if err := w.Append(t.Context(), Entry{Record: l.Record}); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	for _, c := range []struct {
		push, since string
		found       bool
	}{{"push-0", git.Zero, true}, {"push-2", git.Zero, true}, {"push-2", before, true}, {"push-1", before, false}, {"push-9", git.Zero, false}} {
		if r, err := find(batch, c.push, c.since); err != nil || (r != nil) != c.found {
			t.Errorf("%s since %.4s: %v, %v", c.push, c.since, r, err)
		}
	}
	moves := []push.Update{{Ref: "refs/heads/a", Old: id("1"), New: id("2")}}
	if r, err := Recorded(batch, moves, true); err != nil || r == nil || r.Push != "push-1" {
		t.Error(r, err)
	}
	if r, err := Recorded(batch, moves, false); err != nil || r != nil {
		t.Error(r, err)
	}
}
