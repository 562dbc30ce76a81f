package tool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ward/agent/stop"
	"git-ward/protocols/boot"
)

// fakeRepo answers the questions of the signal tools; the real answers are
// tested in store and by the command's scripts.
type fakeRepo struct {
	unpublished string
	names       []string
	err         error
}

func (r *fakeRepo) Unpublished(context.Context) (string, error) { return r.unpublished, r.err }
func (r *fakeRepo) HasBranch(_ context.Context, name string) (bool, error) {
	return slices.Contains(r.names, name), nil
}
func (r *fakeRepo) HasRevision(_ context.Context, name string) (bool, error) {
	return slices.Contains(r.names, name), nil
}

func (r *fakeRepo) SameCode(_ context.Context, commit, _ string) (bool, error) {
	return commit == sameCommit, nil
}

const sameCommit = "0123456789abcdef0123456789abcdef01234567"

// TestBootstrapKnowsItsHistory: a branch that started is not started again and
// again, nor one that fails to.
func TestBootstrapKnowsItsHistory(t *testing.T) {
	b := newBox(t)
	b.Repo = &fakeRepo{names: []string{"agent/D-1"}}
	write := func(events ...boot.Event) {
		var log string
		for _, e := range events {
			log += boot.Entry{Time: time.Now(), Event: e, Branch: "agent/D-1", Commit: sameCommit}.String() + "\n"
		}
		os.MkdirAll(b.logs(), 0o755)
		if err := os.WriteFile(filepath.Join(b.logs(), "bootstrap.log"), []byte(log), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(boot.Failure, boot.Failure, boot.Failure)
	if r := call(t, b, "bootstrap", `{"branch":"agent/D-1"}`); !r.IsError || !strings.Contains(r.Text, "failed to start 3 times in a row") {
		t.Error(r)
	}
	write(boot.Failure, boot.Failure, boot.Failure, boot.Bootstrapping, boot.Success)
	if r := call(t, b, "bootstrap", `{"branch":"agent/D-1"}`); r.IsError || !strings.Contains(r.Text, "it started well") {
		t.Error(r)
	}
	write(boot.Failure, boot.Failure)
	if _, err := Call(t.Context(), b.Tools(), "bootstrap", json.RawMessage(`{"branch":"agent/D-1"}`)); !stop.Is(err, stop.Restart) {
		t.Error(err)
	}
}

func TestSignal(t *testing.T) {
	b := newBox(t)
	repo := &fakeRepo{names: []string{"agent/D-1", "main"}}
	b.Repo = repo
	for _, c := range []struct{ name, want string }{
		{"", "is empty"},
		{"--upload-pack=x", "begins with a dash"},
		{"a\nb", "is not a plain name"},
		{"main~1", "is not a plain name"},
		{"main@{1}", "is not a plain name"},
		{"a..b", "is not a plain name"},
		{strings.Repeat("x", 256), "is longer than 255 bytes"},
		{"agent/D-2", "the remote has no agent/D-2"},
	} {
		for tool, arg := range map[string]string{"bootstrap": "branch", "rollback": "ref"} {
			args, _ := json.Marshal(map[string]string{arg: c.name})
			if r := call(t, b, tool, string(args)); !r.IsError || !strings.HasPrefix(r.Text, tool+": ") || !strings.Contains(r.Text, c.want) {
				t.Errorf("%s %s: %+v", tool, args, r)
			}
		}
	}
	repo.unpublished = "2 changes"
	if r := call(t, b, "bootstrap", `{"branch":"main"}`); !r.IsError || r.Text != "bootstrap: 2 changes; commit and push it first, or throw it away" {
		t.Error(r)
	}
	repo.unpublished, repo.err = "", errors.New("no git")
	if r := call(t, b, "bootstrap", `{"branch":"main"}`); !r.IsError || r.Text != "bootstrap: no git" {
		t.Error(r)
	}
	if _, err := os.Stat(filepath.Join(b.State, ".signal")); err == nil {
		t.Error("a refused signal left a trace")
	}

	repo.err = nil
	for tool, arg := range map[string]string{"bootstrap": "branch", "rollback": "ref"} {
		_, err := Call(t.Context(), b.Tools(), tool, json.RawMessage(`{"`+arg+`":"agent/D-1"}`))
		data, _ := os.ReadFile(filepath.Join(b.State, ".signal", tool))
		if !stop.Is(err, stop.Restart) || string(data) != "agent/D-1\n" {
			t.Errorf("%s: %v, %q", tool, err, data)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(b.State, ".signal")); len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}
