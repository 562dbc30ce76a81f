package receive

import (
	"context"
	"strings"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

// TestFault: a fault of the checks is trouble, and says nothing of what was pushed.
func TestFault(t *testing.T) {
	j := (&session{repo: git.Open(t.TempDir())}).runChecks(t.Context(), pusher{name: "secret-name"}, nil) // no settings: a nil pointer
	if j.err == nil || !strings.Contains(j.err.Error(), "a fault of Ward's own") || strings.Contains(j.err.Error(), "secret") {
		t.Error(j.err)
	}
}

// TestDeadline: a push that is not judged in time is refused with a finding, and the
// children of the judgement end.
func TestDeadline(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	settings := config.Default()
	settings.Limits.Deadline.Duration = time.Nanosecond
	repo := git.Open(t.TempDir())
	s := &session{repo: repo, batch: repo.Batch(ctx), settings: settings, start: time.Now(), stop: stop}
	result, err := s.judge(ctx, pusher{}, nil)
	if err != nil || len(result.Findings) != 1 || result.Findings[0].Rule != "limit/time" || !result.Refused() {
		t.Errorf("%+v, %v", result, err)
	}
	if ctx.Err() == nil {
		t.Error("the session goes on")
	}
}

func TestTooMuch(t *testing.T) {
	for _, c := range []struct {
		omitted *audit.Omitted
		options bool
		want    string
	}{
		{nil, false, ""},
		{nil, true, "limit/options"},
		{&audit.Omitted{Refs: 2}, false, "limit/refs"},
		{&audit.Omitted{Refs: 2}, true, "limit/refs"},
	} {
		got := ""
		if result := (&session{omitted: c.omitted}).tooMuch(c.options); result != nil {
			got = result.Findings[0].Rule
		}
		if got != c.want {
			t.Errorf("%+v, options %v: %q, want %q", c.omitted, c.options, got, c.want)
		}
	}
}
