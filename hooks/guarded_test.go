package hooks_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/await"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// newPair is a guarded repository and a clone of it, with Ward's real binaries.
func newPair(t testing.TB) *gittest.Pair {
	t.Helper()
	tier.First(t, "it pushes through real hooks")
	return gittest.New(t)
}

// fsckFinds fails the test unless git ward fsck ends with findings that say all of this.
func fsckFinds(p *gittest.Pair, want ...string) {
	p.T.Helper()
	out, err := p.Try(p.Bare, nil, "", "git-ward", "fsck")
	for _, text := range want {
		if err == nil || !strings.Contains(out, text) {
			p.T.Fatalf("git ward fsck finds no %q: %v\n%s", text, err, out)
		}
	}
}

// stillWorks fails the test unless everybody can push, and the repository is whole.
func stillWorks(t *testing.T, p *gittest.Pair) {
	t.Helper()
	p.Git("switch", "--quiet", "--force", "-C", "goes-on", "origin/main")
	p.Commit("goes-on", time.Now().String())
	if out, err := p.Push("HEAD:refs/heads/goes-on-" + fmt.Sprint(time.Now().UnixNano())); err != nil || strings.Contains(out, "not recorded") {
		t.Fatalf("others are locked out: %v\n%s", err, out)
	}
	p.Fsck()
}

// newest is the newest record as git ward log has it.
func newest(p *gittest.Pair) string {
	p.T.Helper()
	return p.Run(p.Bare, "git-ward", "log", "--json", "-n", "1")
}

// recordsOf are the records, one a line, that say something.
func recordsOf(p *gittest.Pair, text string) string {
	p.T.Helper()
	var found strings.Builder
	for line := range strings.Lines(p.Run(p.Bare, "git-ward", "log", "--json")) {
		if strings.Contains(line, text) {
			found.WriteString(line)
		}
	}
	return found.String()
}

// chained installs a hook that runs after Ward's own.
func chained(p *gittest.Pair, name, script string) {
	p.T.Helper()
	dir := filepath.Join(p.Bare, "hooks.chained")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.T.Fatal(err)
	}
	gittest.Program(p.T, filepath.Join(dir, name), "#!/bin/sh\n"+script)
}

// standIn puts a script into the place of a hook of Ward's, until restore. In the script,
// WARD is the hook that was there; `exec WARD` keeps receive-pack as its parent.
func standIn(p *gittest.Pair, name, script string) (restore func()) {
	p.T.Helper()
	hook, real := filepath.Join(p.Bare, "hooks", name), filepath.Join(p.T.TempDir(), name)
	if err := os.Rename(hook, real); err != nil {
		p.T.Fatal(err)
	}
	gittest.Program(p.T, hook, "#!/bin/sh\n"+strings.ReplaceAll(script, "WARD", real))
	return func() {
		p.T.Helper()
		if err := os.Rename(real, hook); err != nil {
			p.T.Fatal(err)
		}
	}
}

// appendRecord appends a record to the chain as a hook would.
func appendRecord(t *testing.T, repo *git.Repo, batch *git.Batch, r *audit.Record) error {
	t.Helper()
	w, err := audit.NewWriter(t.Context(), repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Append(t.Context(), audit.Entry{Record: r})
}

// killedAt runs a program of Ward's until it kills itself at a point (internal/failpoint).
func killedAt(t *testing.T, cmd *exec.Cmd, point string) {
	t.Helper()
	cmd.Env = append(cmd.Env, failpoint.Var+"="+point+"=kill")
	out, err := await.Output(t, cmd)
	if !killed(err) {
		t.Fatalf("it does not come to %s: %v\n%s", point, err, out)
	}
}

// killed is whether a program ended by SIGKILL, as at its failpoint.
func killed(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// stands is whether a file is there, to wait for.
func stands(path string) func() bool {
	return func() bool { _, err := os.Lstat(path); return err == nil }
}
