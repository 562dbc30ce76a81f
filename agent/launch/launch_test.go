package launch_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/agent/launch"
	"git-ward/agent/stop"
	"git-ward/protocols/boot"
)

func TestTime(t *testing.T) {
	const grace = time.Minute
	for _, c := range []struct {
		until           time.Time
		over            bool
		least, patience time.Duration // for a verdict, of an hour
	}{
		{time.Time{}, false, time.Hour, time.Hour},
		{time.Now().Add(2 * time.Hour), false, time.Hour, time.Hour},
		{time.Now().Add(10 * time.Minute), false, 10 * time.Minute, 10*time.Minute + 30*time.Second},
		{time.Now().Add(-10 * time.Second), true, 10 * time.Second, 20 * time.Second},
		{time.Now().Add(-time.Hour), true, -time.Hour, 0},
	} {
		l := launch.Launch{Until: c.until}
		if got := l.Patience(time.Hour, grace); l.Over() != c.over || got < c.least || got > c.patience {
			t.Errorf("%s: over %v, patience %s", c.until, l.Over(), got)
		}
		if (l.WhyOver() != "") != c.over {
			t.Errorf("%s: %q", c.until, l.WhyOver())
		}
		ctx, cancel := l.Context(context.Background())
		if c.over != stop.Is(context.Cause(ctx), stop.Spent) {
			t.Errorf("%s: %v", c.until, context.Cause(ctx))
		}
		cancel()
	}
}

func TestFrom(t *testing.T) {
	env := map[string]string{boot.LogVar: "/s/logs/bootstrap.log", boot.BranchVar: "agent/D-1", boot.CommitVar: "c", boot.MainVar: "m",
		boot.UntilVar: "2026-11-22T10:00:00.5Z"}
	got := launch.From(func(name string) string { return env[name] })
	want := launch.Launch{Log: "/s/logs/bootstrap.log", Branch: "agent/D-1", Commit: "c", Main: "m", Until: time.Date(2026, 11, 22, 10, 0, 0, 5e8, time.UTC)}
	if got != want || !got.OnBranch() {
		t.Errorf("%+v", got)
	}
	if none := launch.From(func(string) string { return "" }); none != (launch.Launch{}) || none.OnBranch() {
		t.Errorf("nobody said anything: %+v", none)
	}
	if (launch.Launch{Branch: boot.Main}).OnBranch() {
		t.Error("main has nothing to prove")
	}
}

// TestSucceeded: the line goes to the log that the watcher has made, and to no
// other file.
func TestSucceeded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bootstrap.log")
	l := launch.Launch{Log: path, Branch: "agent/D-1", Commit: strings.Repeat("0123456789", 4)}
	if err := l.Succeeded(); err == nil {
		t.Error("it made a log")
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := l.Succeeded(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if last := boot.Last(data, "agent/D-1"); err != nil || last.Event != boot.Success || last.Commit != l.Commit {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.Symlink(path, path+".link"); err != nil {
		t.Fatal(err)
	}
	if err := (launch.Launch{Log: path + ".link"}).Succeeded(); err == nil {
		t.Error("it followed a link")
	}
	if err := (launch.Launch{}).Succeeded(); err != nil {
		t.Error(err)
	}
}
