package verifier

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

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// TestApart: without a fence each command has a /tmp, a /dev/shm and processes of its own, what was
// in /tmp before is there, and none reaches what runs it (PROOF-6).
func TestApart(t *testing.T) {
	tier.First(t, "it runs many commands")
	r, c := claimed(t)
	c.Commit = r.commit(nil)
	p := &Processes{Limits: Limits{Time: time.Hour, Output: 1 << 20}, Places: newPlaces(t)}
	if why := p.Shared(); why != "" {
		t.Skipf("SKIPPED: %s", why)
	}
	was, err := os.MkdirTemp("/tmp", "apart-")
	if err != nil {
		t.Fatal(err)
	}
	// Files that others remove while find lists them have it fail.
	find, err := exec.LookPath("find")
	bin := t.TempDir()
	if err = errors.Join(err, gittest.WriteProgram(filepath.Join(bin, "find"), "#!/bin/sh\n"+find+" \"$@\"\nexit 1\n")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	name := was + ".new"
	t.Cleanup(func() {
		os.RemoveAll(was)
		os.Remove(name)
	})
	for _, line := range []string{
		"test ! -e " + name + " && test ! -e /dev/shm/apart && touch " + name + " /dev/shm/apart " + was + "/a",
		"test ! -e " + name + " && test ! -e /dev/shm/apart && test -e " + was + "/a && touch b && test -e \"$HOME/work/b\"",
		"test $PPID = 1 || exit; kill -STOP 1; kill -9 1; echo done",
	} {
		o, err := p.Run(t.Context(), Job{Repo: r.bare, Commit: c.Commit, Line: line})
		if err != nil || !o.OK() {
			t.Errorf("%s: %+v, %v", line, o, err)
		}
	}
	odd := filepath.Join(t.TempDir(), "a b\\040\t#c")
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", odd)
	if o, err := p.Run(t.Context(), Job{Repo: r.bare, Commit: c.Commit, Line: "test ! -e " + name + " && test -e " + was + "/a"}); err != nil || !o.OK() {
		t.Errorf("in %q: %+v, %v", odd, o, err)
	}
	c.Commands, c.Main = []Command{{Name: "criterion 1", Line: "true"}}, c.Commit
	if f, err := r.verify(c); err != nil || f.Shared != "" {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestNotApart: where a machine makes no namespaces, the verdict says so, and a command that stops what
// runs it has no end that counts.
func TestNotApart(t *testing.T) {
	tier.First(t, "it runs many commands")
	bin := t.TempDir()
	for _, name := range []string{"sh", "git", "mkdir", "sleep", "touch"} {
		at, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(at, filepath.Join(bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	r, c := claimed(t)
	c.Commit = r.commit(nil)
	c.Commands = []Command{{Name: "criterion 1", Line: "true"}}
	f, err := r.verify(c)
	if err != nil || !f.OK() || !strings.Contains(f.Shared, "unshare") {
		t.Fatalf("%+v, %v", f, err)
	}
	c.Commands[0].Line = `P=$PPID
		(until read -r stat </proc/$P/stat && case $stat in *") T "*) ;; *) false;; esac; do sleep 0.01; done
		kill -CONT $P) & kill -STOP $P; wait`
	if f, err := r.verify(c); err == nil || !strings.Contains(err.Error(), "was stopped") {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestPending: a signal of a stopped process is seen until the process has taken it.
func TestPending(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap : USR2; trap 'exit 3' USR1; echo; while :; do :; done")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it traps
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	says := func(sig syscall.Signal, want bool) {
		t.Helper()
		if sent, err := pending(pid, sig); sent != want || err != nil {
			t.Errorf("%v: %t, %v", sig, sent, err)
		}
	}
	says(syscall.SIGUSR1, false)
	syscall.Kill(pid, syscall.SIGSTOP)
	await.True(t, "it is stopped", func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return strings.Contains(string(stat), ") T ")
	})
	// One comes to a thread alone: its first, which has the process's number.
	if _, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(pid), uintptr(pid), uintptr(syscall.SIGUSR2)); errno != 0 {
		t.Fatal(errno)
	}
	says(syscall.SIGUSR2, true)
	says(syscall.SIGUSR1, false)
	syscall.Kill(pid, syscall.SIGUSR1)
	says(syscall.SIGUSR1, true)
	syscall.Kill(pid, syscall.SIGCONT)
	if err := await.Exit(t, cmd); cmd.ProcessState.ExitCode() != 3 {
		t.Error(err)
	}
	if _, err := pending(pid, syscall.SIGCONT); err == nil {
		t.Error("nothing is said of what cannot be read")
	}
}
