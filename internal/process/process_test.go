package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/await"
	"git-ward/internal/process"
	"git-ward/internal/tier"
)

// roleVar lets the test binary be a supervisor of its own: a sweep ends all that
// comes from its process, which must not be the test.
const roleVar = "PROCESS_TEST_SWEEP"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Unsetenv(roleVar)
		os.Exit(sweeper(role))
	}
	os.Exit(m.Run())
}

var errDisk = errors.New("the disk is full")

// buffer fails as a disk does, once it holds size bytes; 0 is no bound.
type buffer struct {
	mu   sync.Mutex
	b    bytes.Buffer
	size int
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size > 0 && b.b.Len()+len(p) > b.size {
		return 0, errDisk
	}
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// command is a bash command in a directory of its own, by which its processes are
// known.
func command(t *testing.T, line string, out *buffer) *process.Command {
	return &process.Command{
		Args: []string{"bash", "-c", line}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")},
		Stdin: strings.NewReader("typed"), Stdout: out, Stderr: out, Tag: "PROCESS_TEST_CALL=" + t.Name(),
	}
}

// running are the command lines of what works in a directory.
func running(t *testing.T, dir string) (lines []string) {
	t.Helper()
	for _, p := range process.All() {
		if at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID)); err == nil && at == dir && !p.Dead {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
			lines = append(lines, string(line))
		}
	}
	return lines
}

// TestRun: what a command prints, how it ends, and that nothing of it is left.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, out, status string
	}{
		{"echo out; echo err >&2; echo out", "out\nerr\nout\n", "exit 0"},
		{"cat", "typed", "exit 0"},
		{"exit 3", "", "exit 3"},
		{"kill -9 $$", "", "killed by signal 9, killed"},
		{"echo $PROCESS_TEST_CALL | grep -c TestRun", "1\n", "exit 0"},
		{"[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ]", "", "exit 0"}, // a session of its own
		{"sleep 1000 & echo a", "a\n", "exit 0"},
		{"nohup sleep 1000 & echo a", "a\n", "exit 0"},
		{"setsid bash -c 'sleep 1000 & setsid sleep 1000 & wait' & sleep 0.1; echo a", "a\n", "exit 0"}, // the time to leave the group
	} {
		var out buffer
		cmd := command(t, c.line, &out)
		status, stopped, err := cmd.Run(t.Context())
		if err != nil || stopped != nil || status.String() != c.status || strings.TrimPrefix(out.String(), "nohup: ignoring input\n") != c.out {
			t.Errorf("%s: %v %v %v, %q", c.line, status, stopped, err, out.String())
		}
		if left := running(t, cmd.Dir); left != nil {
			t.Errorf("%s: left running: %q", c.line, left)
		}
	}
}

// TestStopped: a command that must end is asked first where there is a grace, and
// is killed then; the reason is a value. What happens after a time happens to commands
// that need none to be ready for it; the others say that they are up, and of two the last.
func TestStopped(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	const soon = 50 * time.Millisecond
	for _, c := range []struct {
		line   string
		change func(*process.Command)
		want   string // of the reason; the cause's: it is ended when it has said something
		code   int
		out    string
	}{
		{"sleep 1000", func(c *process.Command) { c.Timeout = soon }, "it ran longer than 50ms", 137, ""},
		{"(sleep 1000; echo b) & sleep 1000", func(c *process.Command) { c.Timeout = soon }, "it ran longer than 50ms", 137, ""},
		// Without a shell: one that is about to execute a program may lose a signal.
		{"no shell", func(c *process.Command) { c.Args, c.Timeout, c.Grace = []string{"sleep", "1000"}, soon, time.Hour }, "it ran longer than 50ms", 143, ""},
		{"yes", func(c *process.Command) { c.Output = 3 << 20 }, "more than 3 MiB of output", 137, "y\n"},
		{"yes", func(c *process.Command) { c.Stdout.(*buffer).size = 1 << 20 }, errDisk.Error(), 137, "y\n"},
		{"trap '' TERM; echo up; sleep 1000", func(*process.Command) {}, cause.Error(), 137, "up\n"},
		{"echo up >up; trap 'echo asked; exit 4' TERM; tail -f up 2>/dev/null & wait", func(c *process.Command) { c.Grace = time.Hour }, cause.Error(), 4, "up\nasked\n"},
		{"trap '' TERM; echo up; sleep 1000", func(c *process.Command) { c.Grace = soon }, cause.Error(), 137, "up\n"},
	} {
		var out buffer
		cmd := command(t, c.line, &out)
		c.change(cmd)
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.want == cause.Error() {
			cmd.Stdout = readyWriter{&out, func() { cancel(cause) }}
		}
		status, stopped, err := cmd.Run(ctx)
		cancel(nil)
		if err != nil || stopped == nil || stopped.Error() != c.want || status.Code() != c.code || !strings.HasPrefix(out.String(), c.out) {
			t.Errorf("%s: %v %v %v, %.60q", c.line, status, stopped, err, out.String())
		}
		if left := running(t, cmd.Dir); left != nil {
			t.Errorf("%s: left running: %q", c.line, left)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, _, err := command(t, "true", &buffer{}).Run(ended); !errors.Is(err, cause) {
		t.Errorf("what is to end starts: %v", err)
	}
}

// slowDisk is full, and says so when the command has ended that writes its pid.
type slowDisk struct{ *testing.T }

func (d slowDisk) Write(data []byte) (int, error) {
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, err
	}
	await.True(d, "the command ends", func() bool { p, there := process.Read(pid); return !there || p.Dead })
	return 0, errDisk
}

// TestLateFailure: output that could not be written is told of, too, where the command
// has ended by itself before.
func TestLateFailure(t *testing.T) {
	t.Parallel()
	cmd := command(t, "echo $$", nil)
	cmd.Stdout, cmd.Stderr = slowDisk{t}, slowDisk{t}
	if status, stopped, err := cmd.Run(t.Context()); !status.OK() || !errors.Is(stopped, errDisk) || err != nil {
		t.Errorf("%v %v %v", status, stopped, err)
	}
}

// TestNotStarted: trouble is an error, and leaves no reader behind.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	for _, cmd := range []*process.Command{{Args: []string{"/nowhere/at/all"}}, {Args: []string{"true"}, Dir: "/nowhere/at/all"}} {
		if _, _, err := cmd.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: %v", cmd.Args, err)
		}
	}
}

// TestEscape: who leaves group and environment gets away where nothing sweeps; he
// holds the pipe, but not us.
func TestEscape(t *testing.T) {
	t.Parallel()
	tier.First(t, "it waits for a second that a pipe may be held")
	var out buffer
	cmd := command(t, "setsid env -i sleep 1000 & echo $!; until grep -q sleep /proc/$!/comm; do :; done", &out)
	status, stopped, err := cmd.Run(t.Context())
	if err != nil || stopped != nil || !status.OK() {
		t.Errorf("%v %v %v", status, stopped, err)
	}
	if left := running(t, cmd.Dir); len(left) != 1 {
		t.Errorf("running: %q", left)
	}
	exec.Command("kill", "-9", strings.TrimSpace(out.String())).Run()
}

// TestTwoStreams: with two writers nothing gets between the lines of one.
func TestTwoStreams(t *testing.T) {
	t.Parallel()
	var out, errs buffer
	cmd := command(t, "for i in 1 2 3; do echo out; echo err >&2; done", &out)
	cmd.Stderr = &errs
	if status, _, err := cmd.Run(t.Context()); err != nil || !status.OK() || out.String() != "out\nout\nout\n" || errs.String() != "err\nerr\nerr\n" {
		t.Errorf("%v %v %q %q", status, err, out.String(), errs.String())
	}
}

// TestEndTagged asks those who carry the tag, kills those who do not heed it, and
// leaves strangers alone.
func TestEndTagged(t *testing.T) {
	t.Parallel()
	tag := "PROCESS_TEST_TAG=" + t.TempDir()
	asked := filepath.Join(t.TempDir(), "asked")
	start := func(line string, env ...string) *exec.Cmd {
		cmd := exec.Command("bash", "-c", line)
		cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "FILE="+asked)
		ready, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ready.Read(make([]byte, 1)) // it has its trap, and its environment
		go cmd.Wait()               // reap, as init would
		return cmd
	}
	stranger := start("echo; exec sleep 1000", tag+"x", "X"+tag)
	defer stranger.Process.Kill()
	// It needs no child for its answer, which would be asked to end, too.
	start("trap ': >$FILE; exit 0' TERM; echo; while :; do sleep 0.01; done", tag)
	if n := process.EndTagged(tag, time.Hour); n < 1 { // it heeds, so that nobody waits for an hour
		t.Errorf("found %d processes", n)
	}
	if _, err := os.Stat(asked); err != nil {
		t.Error("the polite one was not asked")
	}
	start("trap '' TERM; echo; while :; do sleep 0.01; done", "A=B", tag)
	if n := process.EndTagged(tag, 50*time.Millisecond); n < 1 {
		t.Errorf("found %d processes", n)
	}
	if n := process.EndTagged(tag, 0); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	if stranger.Process.Signal(syscall.Signal(0)) != nil {
		t.Error("a stranger was ended")
	}
}

// TestEndTaggedInExec: a process has no environment for a moment where it executes a program, and
// is ended all the same.
func TestEndTaggedInExec(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	again := filepath.Join(dir, "again")
	if err := os.WriteFile(again, []byte("exec sh \"$0\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	many := make([]string, 40_000) // of which the kernel makes a list, behind that of the arguments
	for i := range many {
		many[i] = fmt.Sprintf("A%d=", i)
	}
	for i := range 50 {
		tag := fmt.Sprintf("PROCESS_TEST_EXEC=%s%d", dir, i)
		cmd := exec.Command("sh", again) // for ever
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), tag}, many[:i%2*len(many)]...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n := process.EndTagged(tag, 0); n != 1 {
			t.Errorf("found %d processes", n)
			cmd.Process.Kill()
		}
		cmd.Wait()
	}
}

// TestEndGroup: the end of the context ends the whole group, and who left it is not
// waited for.
func TestEndGroup(t *testing.T) {
	t.Parallel()
	said := filepath.Join(t.TempDir(), "said")
	if err := os.WriteFile(said, []byte("up\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Each of the two says by itself that it runs: a shell that has forked and not yet
	// executed the program may lose a signal.
	const two = "tail -f $SAID & tail -f $SAID"
	for line, c := range map[string]struct {
		delay time.Duration
		want  string
	}{
		two:                    {time.Hour, "signal: terminated"},
		"trap '' TERM; " + two: {50 * time.Millisecond, "signal: killed"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, "bash", "-c", line)
		cmd.Env = append(os.Environ(), "SAID="+said)
		var out buffer
		cmd.Stdout = readyWriter{&out, func() {
			if out.String() == "up\nup\n" {
				cancel() // both run: now they can be ended
			}
		}}
		process.EndGroup(cmd, syscall.SIGTERM, c.delay)
		cmd.Run()
		if got := cmd.ProcessState.String(); got != c.want {
			t.Errorf("%s: %s", line, got)
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // those that do not heed SIGTERM
	}
}

// readyWriter says when something was written.
type readyWriter struct {
	*buffer
	ready func()
}

func (r readyWriter) Write(p []byte) (int, error) {
	defer r.ready()
	return r.buffer.Write(p)
}

// TestSweep: what leaves session, environment and output behind does not get away
// from a subreaper, nor from who is alone with it in a container.
func TestSweep(t *testing.T) {
	t.Parallel()
	for role, wrap := range map[string][]string{
		"descendants": nil,
		"strays":      nil,
		"container":   {"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", `"$0"; exit $?`},
	} {
		args := append(wrap, os.Args[0])
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), roleVar+"="+role)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "not permitted") {
			t.Log("SKIPPED: this user gets no PID namespace: ", string(out))
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", role, err, out)
		}
	}
}

// sweeper is a process that runs a command which tries to get away, and ends when each of
// three is in a session of its own.
func sweeper(role string) int {
	cmd := process.Command{
		Args: []string{"bash", "-c", "for i in 1 2 3; do setsid env -i bash -c 'trap \"\" TERM; sleep 1000 & sleep 1000' >&- 2>&- & until [ $(cut -d' ' -f6 /proc/$!/stat) = $! ]; do :; done; done; exit 5"},
		Env:  os.Environ(), Sweep: process.SweepDescendants, DieWithThread: true,
	}
	if role == "container" {
		cmd.Sweep = process.SweepContainer
	} else if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 1
	}
	if role == "strays" {
		return strays(cmd)
	}
	status, stopped, err := cmd.Run(context.Background())
	left := process.Descendants()
	if role == "container" {
		// The dead are the first process's to reap, which is a shell here, and takes its time.
		left = slices.DeleteFunc(process.Others(), func(p process.Info) bool { return p.Dead })
	}
	if status.Code() != 5 || stopped != nil || err != nil || len(left) > 0 {
		fmt.Println(status, stopped, err, left)
		return 1
	}
	return 0
}

// strays is a process whose command has left some behind, while a child of its own, as
// git is one, is at work.
func strays(cmd process.Command) int {
	cmd.Sweep = nil
	git := exec.Command("sleep", "1000")
	if err := git.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	defer git.Process.Kill()
	if _, _, err := cmd.Run(context.Background()); err != nil {
		fmt.Println(err)
		return 1
	}
	got := process.EndStrays()
	if left := process.Descendants(); got < 3 || len(left) != 1 || left[0].PID != git.Process.Pid || left[0].Dead || process.EndStrays() != 0 {
		fmt.Println(got, "ended, left:", left)
		return 1
	}
	return 0
}

// TestRead: this process is found, with what it used.
func TestRead(t *testing.T) {
	// Some ticks of 10 ms are used: time on the processor, which a loaded machine gives
	// less of than the clock's.
	var used unix.Rusage
	for unix.TimevalToNsec(used.Utime) < int64(30*time.Millisecond) {
		if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
	}
	p, ok := process.Read(os.Getpid())
	if !ok || p.Parent != os.Getppid() || p.Dead || p.CPU == 0 || p.Memory < 1<<20 {
		t.Errorf("%+v %v", p, ok)
	}
	if _, ok := process.Read(1 << 30); ok {
		t.Error("there is no such process")
	}
}

// TestChildren: one's own children are listed whichever thread started them, the dead with
// the living, and nobody else's.
func TestChildren(t *testing.T) {
	want := map[int]bool{} // by whether it is dead
	for i := range 6 {
		cmd := exec.Command("sleep", "60")
		if i%2 == 0 {
			cmd = exec.Command("true")
		}
		started := make(chan error)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with this function
			started <- cmd.Start()
		}()
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		want[cmd.Process.Pid] = i%2 == 0
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
	await.True(t, fmt.Sprintf("children %v, the short ones ended", want), func() bool {
		got := map[int]bool{}
		for _, p := range process.Children() {
			if _, mine := want[p.PID]; mine {
				got[p.PID] = p.Dead
			} else if p.Parent != os.Getpid() {
				t.Fatalf("%+v is nobody's child here", p)
			}
		}
		return maps.Equal(got, want)
	})
}
