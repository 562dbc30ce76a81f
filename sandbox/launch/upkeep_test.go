package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"git-ward/internal/growth"
)

// TestDue: maintenance is due each hour, when half of the agent's share is used and there
// is something new, when git keeps many loose objects, and not for ever.
func TestDue(t *testing.T) {
	bare := t.TempDir()
	for _, d := range []string{"ward", "objects/17", "refs/heads/agent"} {
		if err := os.MkdirAll(filepath.Join(bare, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	d := due{bare: bare, limit: 1000}
	want := func(what string, at time.Time, want bool) {
		t.Helper()
		if d.now(at) != want {
			t.Errorf("%s: %v", what, !want)
		}
	}
	add := func(bytes int64) {
		t.Helper()
		if err := growth.Add(t.Context(), bare, "D-1", bytes, 1_000_000); err != nil {
			t.Fatal(err)
		}
	}
	want("never counted", now, true)
	if _, err := growth.Count(t.Context(), bare, growth.Ledger{}, 0, true); err != nil {
		t.Fatal(err)
	}
	want("counted a moment ago", now, false)
	want("an hour later", now.Add(hourly+time.Minute), true)
	want("counted by a clock that was ahead", now.Add(-2*hourly), true)
	add(500)
	want("half", now, false)
	add(1)
	want("more than half", now, true)
	d.ran(now, now, true)
	want("nothing new", now.Add(30*time.Minute), false)
	add(100)
	want("a little more", now.Add(time.Second), false)
	add(100)
	want("an eighth more", now.Add(time.Second), true)
	d.ran(now, now, true)
	if err := os.WriteFile(filepath.Join(bare, "refs/heads/agent/x"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	want("a branch moved, a second ago", now.Add(time.Second), false)
	want("a branch moved", now.Add(rest+time.Second), true)
	d.ran(now, now, false)
	want("it failed, a second ago", now.Add(time.Second), false)
	want("it failed", now.Add(rest+time.Second), true)
	d.ran(now, now, true)
	want("it did not fail", now.Add(rest+time.Second), false)
	for i := range manyLoose + 1 {
		if err := os.WriteFile(filepath.Join(bare, "objects/17", fmt.Sprint(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.ran(now.Add(-time.Minute), now, true)
	want("many loose objects, and the last run took a minute", now.Add(rest+time.Second), false)
	d.ran(now, now, true)
	want("many loose objects", now.Add(rest+time.Second), true)
	want("many that stay loose", now.Add(time.Second), false)
	want("the clock a day back", now.Add(-24*time.Hour), true)
	if err := os.WriteFile(filepath.Join(bare, growth.Path), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	want("a broken ledger", now.Add(rest+time.Second), true)
}
