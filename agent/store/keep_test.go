package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKeep: what somebody changed before there was a plan becomes a commit on where the
// work stood, whatever he did to the branch; files that the plan makes are left out.
func TestKeep(t *testing.T) {
	ctx, s := t.Context(), newStore(t)
	w := work(t, s)
	if err := w.Begin(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	head, err := w.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if kept, changes, err := w.Keep(ctx, head, head); kept != head || changes != nil || err != nil {
		t.Errorf("nothing was changed: %s, %q, %v", kept, changes, err)
	}
	for name, text := range map[string]string{"a": "a\n", "made": "by hand\n", "committed": "c\n"} {
		if err := os.WriteFile(filepath.Join(w.Dir(), name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(t, w.Dir(), "", "checkout", "--quiet", "-b", "elsewhere")
	run(t, w.Dir(), "", "add", "committed")
	run(t, w.Dir(), "", "commit", "--quiet", "-m", "by the worker")
	_, changes, err := w.Changed(ctx, head, "made")
	if want := []string{"A a", "A committed"}; err != nil || !slices.Equal(changes, want) {
		t.Errorf("%q, %v, want %q", changes, err, want)
	}
	kept, _, err := w.Keep(ctx, head, head, "made")
	if err != nil {
		t.Fatal(err)
	}
	if names := run(t, w.Dir(), "", "ls-tree", "--name-only", kept); strings.Fields(names)[0] != "COMMS.md" || strings.Contains(names, "made") || !strings.Contains(names, "committed") {
		t.Errorf("the commit holds\n%s", names)
	}
	if at := run(t, w.Dir(), "", "rev-parse", "HEAD", "refs/heads/"+w.Branch); at != head+"\n"+head {
		t.Errorf("the branch is at\n%s", at)
	}
	if begun, err := w.begunAt(ctx, kept); begun != head || err != nil {
		t.Errorf("it began at %s, %v, want %s", begun, err, head)
	}
	if err := w.Amid(ctx, "plans/D-1.plan.txt", kept); err != nil {
		t.Fatal(err)
	}
	if stand, err := w.PlanHead(ctx); stand != kept || err != nil {
		t.Errorf("the next step begins at %s, %v, want %s", stand, err, kept)
	}
	if out := run(t, w.Dir(), "", "fsck", "--strict", "--no-dangling"); out != "" {
		t.Error(out)
	}
}
