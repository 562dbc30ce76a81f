package launch_test

import (
	"context"
	"io"
	"os"
	"strconv"
	"syscall"
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

// TestSucceeded: the watcher's question is answered on the descriptor that it named, once,
// and what is no question is an error.
func TestSucceeded(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	watcher := os.NewFile(uintptr(pair[0]), "watcher")
	defer watcher.Close()
	if _, err := watcher.WriteString("word\n"); err != nil {
		t.Fatal(err)
	}
	t.Setenv(boot.AskVar, strconv.Itoa(pair[1]))
	l := launch.From(func(name string) string {
		return map[string]string{boot.AskVar: os.Getenv(boot.AskVar), boot.BranchVar: "agent/D-1", boot.CommitVar: "c"}[name]
	})
	if err := l.Succeeded(); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(watcher); err != nil || string(data) != "SUCCESS agent/D-1 c word\n" {
		t.Errorf("%q %v", data, err)
	}
	if os.Getenv(boot.AskVar) != "" {
		t.Error("what it starts is told to answer, too")
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := (launch.Launch{Ask: fd}).Succeeded(); err == nil {
		t.Error("a file asks nothing")
	}
	if err := (launch.Launch{}).Succeeded(); err != nil {
		t.Error(err)
	}
}
