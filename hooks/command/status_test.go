package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
)

// What runs is said whatever somebody has written into the settings since, before what is
// wrong with them.
func TestStatusWithBrokenSettings(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "project.git")
	gittest.Git(t, filepath.Dir(bare), "init", "--quiet", "--bare", bare)
	for name, text := range map[string]string{config.Path: "[egress]\nconnections = \"many\"\n", "ward/launch.lock": fmt.Sprintln(os.Getpid())} {
		if err := os.MkdirAll(filepath.Join(bare, "ward"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bare, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Open(filepath.Join(bare, runstate.LockPath))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	gate, err := os.Open(runstate.Gate(bare))
	if err == nil {
		err = unix.Flock(int(gate.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	got := run(t, Status, bare)
	if got.err == nil || !strings.Contains(got.err.Error(), "egress.connections is a text") || !strings.Contains(got.errs, fmt.Sprintf("the launcher, process %d, runs", os.Getpid())) {
		t.Errorf("%v\n%s", got.err, got.errs)
	}
}

// Status and `git ward` alone: on the host, in a clone, in a clone whose origin is away,
// and where nothing is of Ward's.
func TestStatus(t *testing.T) {
	tier.First(t, "the built programs, real hooks and pushes")
	p := gittest.New(t)
	p.Run(p.Work, "git-ward", "directive", "new", "--untried", "-m", "it is one\n\n- [ ] it holds (`true`)\n")
	for name, where := range map[string][]string{"host": {p.Bare}, "named": {filepath.Dir(p.Bare), "--bare", p.Bare}, "clone": {p.Work}, "below": {filepath.Join(p.Work, "protocols")}} {
		got := run(t, Status, where[0], where[1:]...)
		got.check(t, "", "D-1 it is one: not begun\n")
		if runs := strings.Contains(got.out, "nothing runs on "+p.Bare+"\nnext: git ward launch --bare "+p.Bare+"\n"); runs != (name == "host" || name == "named") {
			t.Errorf("%s:\n%s", name, got.out)
		}
		got = run(t, Status, where[0], append(where[1:], "--json")...)
		var s map[string]any
		if err := json.Unmarshal([]byte(got.out), &s); err != nil || s["schema_version"] != "1.0" || len(s["directives"].([]any)) != 1 {
			t.Errorf("%s: %v %s", name, err, got.out)
		}
		if running, told := s["running"].(bool); told != strings.Contains(got.out, `"may_ask":true`) || running {
			t.Errorf("%s: what nobody can know is null: %s", name, got.out)
		}
	}
	here := func(dir string) said {
		return run(t, cli.Command{Name: "here", Run: Here}, dir)
	}
	here(p.Bare).check(t, "", "nothing waits for you here\n1 directive open and not begun, and nothing runs here: git ward launch --bare "+p.Bare+"\n")
	if got := here(t.TempDir()); !errors.Is(got.err, cli.ErrTable) {
		t.Error(got.err)
	}
	p.Run(p.Work, "git", "fetch", "--quiet", "origin")
	if got := run(t, Log, p.Work); strings.Contains(got.errs, "newest pushes") {
		t.Error(got.errs)
	}
	p.Run(p.Bare, "git-ward", "directive", "new", "--untried", "-m", "another\n\n- [ ] it holds (`true`)\n")
	late := run(t, Log, p.Work)
	late.check(t, "", "git-ward: warning: this clone does not have the newest pushes: git fetch origin refs/ward/audit:refs/ward/audit\n")
	p.Git("fetch", "--quiet", "origin", "refs/ward/audit:refs/ward/audit")
	if got := run(t, Log, p.Work); strings.Contains(got.errs, "newest pushes") || len(got.out) <= len(late.out) {
		t.Error(got.errs, got.out)
	}
	if err := os.Rename(p.Bare, p.Bare+".away"); err != nil {
		t.Fatal(err)
	}
	got := here(p.Work)
	got.check(t, "", "warning: this shows what was fetched last: git fetch: ", "nothing waits for you here\n1 directive open and not begun: nobody begins while no agent is launched on the host\n")
	run(t, Status, p.Work).check(t, "", "warning: this shows what was fetched last: ", "D-1 it is one")
	run(t, Status, p.Work, "x").check(t, "usage")
}
