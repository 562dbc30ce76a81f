package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/await"
	"git-ward/internal/cli"
	"git-ward/internal/gittest"
	"git-ward/internal/scratch"
	"git-ward/protocols/boot"
	"git-ward/sandbox/command"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/lab"
	"git-ward/sandbox/podman"
)

// TestMain lets the test binary, under their names, play the launcher and the agent,
// beside the real watcher and forwarder: processes, because what is tested is what
// happens between them.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "git-ward-launch":
		cli.Main("git-ward", command.Main(nil))
	case fence.AgentProgram:
		os.Exit(agent(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == podman.ReaperVerb { // of the engines that tests start
		if err := podman.Reap(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "call" {
		cli.Main("call", func(_ context.Context, env *cli.Env) error { return lab.MakeCalls(env.Args[1:], cli.Raw(env.Stdout)) })
	}
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "machine":
			buryOrphans()
			fallthrough
		case "actor":
			if err := lab.Act(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// report is what the agent says of itself, in <state>/report.json.
type report struct {
	Args []string
	Env  []string
	Dir  string
	PID  int
	PGID int
	Kid  int // a child in its group
	Out  string
}

// agent does what <state>/behave says.
func agent(args []string) int {
	if args[0] == "connect" {
		lab.Connect(args[1])
		return 0
	}
	if args[0] == "rescue" {
		return 0
	}
	flags := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		flags[args[i]] = args[i+1]
	}
	behave, _ := os.ReadFile(filepath.Join(flags["--state"], "behave"))
	dir, _ := os.Getwd()
	r := report{Args: args, Env: os.Environ(), Dir: dir, PID: os.Getpid(), PGID: syscall.Getpgrp()}
	if err := succeed(); err != nil {
		return 1
	}
	term := make(chan os.Signal, 1)
	code := 0
	switch string(behave) {
	case "exit 7":
		code = 7
	case "die":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "push":
		r.Out, code = pushOnce(flags["--bare"], flags["--state"], flags["--door"])
	case "polite", "deaf":
		signal.Notify(term, syscall.SIGTERM)
		kid := exec.Command("sh", "-c", "trap '' TERM; sleep 600")
		if err := kid.Start(); err != nil {
			return 1
		}
		r.Kid = kid.Process.Pid
	}
	fmt.Println("agent's output")
	fmt.Fprintln(os.Stderr, "agent's complaint")
	data, _ := json.Marshal(r)
	if err := atomicfile.Write(filepath.Join(flags["--state"], "report.json"), data, 0o600); err != nil {
		return 1
	}
	switch string(behave) {
	case "polite":
		<-term
		code = 3
	case "deaf":
		select {}
	}
	return code
}

// succeed answers the watcher that the agent is up.
func succeed() error {
	fd, err := strconv.Atoi(os.Getenv(boot.AskVar))
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), boot.AskVar)
	defer f.Close()
	var word string
	if _, err := fmt.Fscanln(f, &word); err != nil {
		return err
	}
	_, err = io.WriteString(f, boot.Answer(os.Getenv(boot.BranchVar), os.Getenv(boot.CommitVar), word))
	return err
}

// pushOnce makes a commit in a clone and pushes it through the door.
func pushOnce(bare, state, socket string) (string, int) {
	self, _ := os.Executable()
	script := fmt.Sprintf(`set -e
		git clone -q %s %s/clone
		cd %[2]s/clone
		echo work >work
		git add work
		git -c user.name=A -c user.email=a@example.org commit -qm work
		git -c remote.origin.receivepack='%s connect %s' push -q origin HEAD:refs/heads/agent/work`, bare, state, self, socket)
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%v: %s", err, out), 1
	}
	return string(out), 0
}

// house is a directory of binaries, a Ward repository and a state directory.
type house struct {
	t     *testing.T
	bin   string
	bare  string
	state string
	path  string // PATH of what is started; "" is the test's own
}

func newHouse(t *testing.T, behave string) *house {
	t.Helper()
	dir := t.TempDir()
	h := &house{t: t, bin: filepath.Join(dir, "bin"), bare: filepath.Join(dir, "repo.git"), state: filepath.Join(dir, "state")}
	if err := os.Mkdir(h.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	state, err := scratch.Claim(h.state, false) // as an earlier launch has left it
	if err != nil {
		t.Fatal(err)
	}
	state.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	real, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"git-ward-launch": self, fence.AgentProgram: self,
		fence.WatcherProgram: filepath.Join(real, fence.WatcherProgram), fence.ForwarderProgram: filepath.Join(real, fence.ForwarderProgram),
		fence.WardProgram: filepath.Join(real, fence.WardProgram),
	} {
		// Not symbolic: a process's own path is a resolved one.
		if err := os.Link(file, filepath.Join(h.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	const first = `git init -q --bare -b main "$1" && cd "$1" && comms=$(printf '# COMMS\n\n## Directives\n\n### D-1: behave\n\n## Reports\n' | git hash-object -w --stdin) &&
		git update-ref refs/heads/main \
		"$(git -c user.name=P -c user.email=p@example.org commit-tree -m first "$(printf '100644 blob %s\tCOMMS.md\n' "$comms" | git mktree)")"`
	if out, err := exec.Command("sh", "-c", first, "sh", h.bare).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	settings, err := os.ReadFile("../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	h.write("ward/config.toml", string(settings), 0o644)
	h.write("ward/door.key", strings.Repeat("k", 32), 0o600)
	h.write("hooks/pre-receive", "#!/bin/sh\ncat >>ward/pre.refs\nenv >ward/pre.env\n", 0o755)
	h.write("hooks/post-receive", "#!/bin/sh\ncat >>ward/post.refs\n", 0o755)
	if err := os.WriteFile(filepath.Join(h.state, "behave"), []byte(behave), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

// write writes a file of the repository.
func (h *house) write(name, text string, mode os.FileMode) {
	h.t.Helper()
	path := filepath.Join(h.bare, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

// launcher is a started `git ward launch`.
type launcher struct {
	*exec.Cmd
	out, err bytes.Buffer
}

// copy copies the repository while a launch works in it: a try at which something goes, such as
// gc.pid, is none.
func (h *house) copy(to string) {
	h.t.Helper()
	await.True(h.t, "a copy", func() bool {
		out, err := exec.Command("cp", "-a", h.bare, to).CombinedOutput()
		if err != nil {
			h.t.Logf("%v: %s", err, out)
			os.RemoveAll(to)
		}
		return err == nil
	})
}

// start starts a launcher in an environment with secrets and a short runtime
// directory of its own.
func (h *house) start(args ...string) *launcher {
	h.t.Helper()
	ctx, cancel := context.WithDeadline(context.Background(), await.Deadline(h.t))
	h.t.Cleanup(cancel)
	l := &launcher{Cmd: exec.CommandContext(ctx, filepath.Join(h.bin, "git-ward-launch"), append([]string{"launch"}, args...)...)}
	runtimeDir, err := os.MkdirTemp("", "rt")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		left, _ := filepath.Glob(runtimeDir + "/*/*")
		left = slices.DeleteFunc(left, func(path string) bool { // what an ordinary user's podman keeps there
			dir := filepath.Base(filepath.Dir(path))
			return dir == "containers" || dir == "libpod"
		})
		if len(left) > 0 && l.ProcessState != nil && l.ProcessState.Exited() {
			h.t.Errorf("left over: %v", left)
		}
		os.RemoveAll(runtimeDir)
	})
	l.Dir = filepath.Dir(h.bare)
	l.Env = []string{
		"PATH=" + cmp.Or(h.path, os.Getenv("PATH")), "HOME=" + filepath.Dir(h.bare), "TMPDIR=" + filepath.Dir(h.bare), "XDG_RUNTIME_DIR=" + runtimeDir,
		"ANTHROPIC_API_KEY=secret-of-the-launcher", "SSH_AUTH_SOCK=/secret", "GIT_DIR=/secret", "WARD_PUSH_TOKEN=secret",
	}
	l.Stdout, l.Stderr = &l.out, &l.err
	l.WaitDelay = 5 * time.Second
	if err := l.Start(); err != nil {
		h.t.Fatal(err)
	}
	return l
}

// unfenced starts the ordinary launcher of these tests.
func (h *house) unfenced(args ...string) *launcher {
	h.t.Helper()
	return h.start(append([]string{"--bare", h.bare, "--unfenced", "--state", h.state}, args...)...)
}

// exit waits for the end and returns the exit code.
func (l *launcher) exit() int {
	l.Wait()
	return l.ProcessState.ExitCode()
}

// report waits for the agent's.
func (h *house) report() (r report) {
	h.t.Helper()
	await.True(h.t, "the agent's report", func() bool {
		data, err := os.ReadFile(filepath.Join(h.state, "report.json"))
		return err == nil && json.Unmarshal(data, &r) == nil
	})
	return r
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(stat, []byte(") Z "))
}
