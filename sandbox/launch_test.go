package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
)

// TestLaunch: what the agent is given, and what it is not.
func TestLaunch(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	h := newHouse(t, "")
	l := h.unfenced("--once")
	if code := l.exit(); code != 0 {
		t.Fatalf("exit %d\n%s", code, &l.err)
	}
	r := h.report()
	if len(r.Args) != 13 {
		t.Fatalf("arguments %q", r.Args)
	}
	socket := r.Args[5]
	want := []string{"--bare", h.bare, "--state", h.state, "--door", socket,
		"--config", filepath.Join(h.state, "config/config.toml"), "--model", "script", "--once", "--directive", "D-1"}
	if !slices.Equal(r.Args, want) || !strings.HasSuffix(socket, "/door/sock") {
		t.Errorf("arguments %q", r.Args)
	}
	names := make([]string, len(r.Env))
	for i, v := range r.Env {
		names[i], _, _ = strings.Cut(v, "=")
	}
	slices.Sort(names)
	// The forwarder leads to the gateway; its keys stand for none.
	wantNames := []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "HOME", "LANG", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PATH", "TMPDIR", "WARD_BOOT_FD", "WARD_BOOT_LOG", "WARD_BRANCH", "WARD_COMMIT", "WARD_LAUNCH", "WARD_LEASE", "WARD_LIVE", "WARD_UNTIL"}
	if !slices.Equal(names, wantNames) || !slices.Contains(r.Env, "ANTHROPIC_API_KEY=ward") || !slices.Contains(r.Env, "OPENAI_API_KEY=ward") ||
		!slices.Contains(r.Env, "HOME="+filepath.Join(h.state, "home")) {
		t.Errorf("environment %q", r.Env)
	}
	if r.PGID == syscall.Getpgrp() || r.PGID == l.Process.Pid || r.Dir != filepath.Join(h.state, "main/repo") {
		t.Errorf("process %d has group %d and directory %s", r.PID, r.PGID, r.Dir)
	}
	user, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if l.out.Len() > 0 {
		t.Errorf("stdout %q", &l.out)
	}
	for _, line := range []string{
		"no model is configured ([model] name in " + h.bare + "/ward/config.toml): the model \"script\" runs\n",
		"unfenced: the agent runs as you (user " + user.Username + ") with your rights; nothing confines it\n",
		"agent's output\n", "agent's complaint\n",
	} {
		if !strings.Contains(l.err.String(), line) {
			t.Errorf("stderr lacks %q:\n%s", line, &l.err)
		}
	}
	copied, err := os.ReadFile(filepath.Join(h.state, "config/config.toml"))
	info, statErr := os.Stat(filepath.Join(h.state, "config/config.toml"))
	if err != nil || statErr != nil || string(copied) != string(config.Default().Copy(config.Inside)) || info.Mode() != 0o444 {
		t.Errorf("the copy of the settings: %v %v %v", err, statErr, info)
	}
}

// TestLaunchAndPush is the whole of it: the agent's push is judged by the hook,
// with a token and without the caller's secrets.
func TestLaunchAndPush(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	h := newHouse(t, "push")
	l := h.unfenced("--once")
	if code := l.exit(); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, &l.err, h.report().Out)
	}
	refs, _ := os.ReadFile(filepath.Join(h.bare, "ward/post.refs"))
	env, _ := os.ReadFile(filepath.Join(h.bare, "ward/pre.env"))
	log, _ := os.ReadFile(filepath.Join(h.bare, "ward/door.log"))
	if !strings.Contains(string(refs), "refs/heads/agent/work") {
		t.Errorf("post-receive saw %q", refs)
	}
	if !strings.Contains(string(env), "WARD_PUSH_TOKEN=") || strings.Contains(string(env), "secret") {
		t.Errorf("pre-receive saw %q", env)
	}
	if !strings.Contains(string(log), `"message":"push"`) {
		t.Errorf("door.log: %q", log)
	}
}

// TestExitCodes: the launcher ends as the agent does.
func TestExitCodes(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	l := newHouse(t, "exit 7").unfenced("--once")
	if code := l.exit(); code != 7 || strings.Contains(l.err.String(), "error: ") {
		t.Errorf("exit %d\n%s", code, &l.err)
	}
	l = newHouse(t, "die").unfenced("--once")
	if code := l.exit(); code != 2 || !strings.Contains(l.err.String(), "error: the agent died: killed") {
		t.Errorf("exit %d\n%s", code, &l.err)
	}
}

// TestSignals: an agent that ends on SIGTERM has its own exit code, one that
// does not is killed; no child of its group stays.
func TestSignals(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	for _, test := range []struct {
		behave string
		signal syscall.Signal
		code   int
	}{
		{"polite", syscall.SIGTERM, 3},
		{"polite", syscall.SIGINT, 3},
		{"polite", syscall.SIGHUP, 3},
		{"deaf", syscall.SIGTERM, 128 + 9},
	} {
		t.Run(test.behave+" "+test.signal.String(), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, test.behave)
			l := h.unfenced()
			r := h.report()
			l.Process.Signal(test.signal)
			if code := l.exit(); code != test.code {
				t.Errorf("exit %d, want %d\n%s", code, test.code, &l.err)
			}
			await.True(t, "agent and child are gone", func() bool { return !alive(r.PID) && !alive(r.Kid) })
		})
	}
}

// TestTimeSpent: an agent that does not end when the launch's time is spent runs
// until the grace is, and knew of both beforehand. A slow machine makes all of it longer,
// and nothing shorter.
func TestTimeSpent(t *testing.T) {
	tier.Full(t, "a launch's time, of seconds")
	t.Parallel()
	h := newHouse(t, "polite")
	settings, err := os.ReadFile(filepath.Join(h.bare, "ward/config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	h.write("ward/config.toml", strings.NewReplacer("\ntime = \"24h\"", "\ntime = \"3s\"", "\ngrace = \"10m\"", "\ngrace = \"4s\"").Replace(string(settings)), 0o644)
	start := time.Now()
	l := h.unfenced()
	r := h.report()
	code := l.exit()
	took := time.Since(start)
	if code != 3 || took < 7*time.Second {
		t.Errorf("exit %d after %s\n%s", code, took, &l.err)
	}
	i := slices.IndexFunc(r.Env, func(v string) bool { return strings.HasPrefix(v, boot.UntilVar+"=") })
	until, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(r.Env[i], boot.UntilVar+"="))
	if end := start.Add(took - 4*time.Second); err != nil || until.Before(start.Add(3*time.Second)) || until.After(end) {
		t.Errorf("the agent was told %s (%v), not a time from %s to %s", until, err, start.Add(3*time.Second), end)
	}
	log, _ := os.ReadFile(filepath.Join(h.bare, "ward/door.log"))
	if !strings.Contains(string(log), "[budget] time is spent") {
		t.Errorf("the log: %s", log)
	}
}

// TestKilledLauncher: the agent dies with a launcher that gets SIGKILL, and the
// lock is free. Its child, which nothing contains, ends with the next launch; that of another
// repository, and of a copy with the same lock, ends nothing.
func TestKilledLauncher(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	h := newHouse(t, "deaf")
	l := h.unfenced()
	r := h.report()
	l.Process.Kill()
	await.Exit(t, l.Cmd)
	await.True(t, "the agent is gone", func() bool { return !alive(r.PID) })
	t.Cleanup(func() { syscall.Kill(-r.PGID, syscall.SIGKILL) })
	await.True(t, "the lock is free", func() bool { // a child that was just forked has it until it runs
		_, running := runstate.Running(h.bare)
		return !running
	})
	backup := h.bare + ".backup"
	h.copy(backup)
	other := filepath.Join(filepath.Dir(h.bare), "other")
	if copied := h.start("--bare", backup, "--unfenced", "--once", "--state", other); copied.exit() != 0 {
		t.Errorf("a launch of a copy:\n%s", &copied.err)
	}
	if !alive(r.Kid) {
		t.Error("a launch of a copy ended what the original's left")
	}
	if next := h.start("--bare", h.bare, "--unfenced", "--once", "--state", other); next.exit() != 0 || alive(r.Kid) {
		t.Errorf("the child of a killed launch lives: %t\n%s", alive(r.Kid), &next.err)
	}
}

// TestOneGate: two launches of one gate know each other, whatever their states are, fenced or
// not, and where somebody removed the lock's file or put another in its place. A killed one is in
// nobody's way, and a copy is another gate.
func TestOneGate(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	h := newHouse(t, "polite")
	backup := h.bare + ".backup"
	first := h.unfenced()
	r := h.report()
	lock, other := filepath.Join(h.bare, runstate.LockPath), filepath.Join(filepath.Dir(h.bare), "other")
	h.copy(backup)
	for _, c := range [...][2]string{
		{"", "another launcher, process " + fmt.Sprint(first.Process.Pid) + ", works on " + h.bare},
		{`cp -a --remove-destination "$2/ward/launch.lock" "$1/ward/"`, "cannot be seen from here, runs on " + h.bare},
		{`rm "$1/ward/launch.lock"`, "cannot be seen from here, runs on " + h.bare},
	} {
		if out, err := exec.Command("sh", "-c", c[0], "sh", h.bare, backup).CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
		for _, how := range [][]string{{"--unfenced", "--once"}, {"--", "true"}} {
			second := h.start(append([]string{"--bare", h.bare, "--state", other}, how...)...)
			if code := second.exit(); code != 2 || !strings.Contains(second.err.String(), c[1]) || !strings.Contains(second.err.String(), "hint: ") {
				t.Errorf("after %q, launch %q: exit %d, stderr lacks %q:\n%s", c[0], how, code, c[1], &second.err)
			}
		}
	}
	if _, err := os.Stat(lock); err == nil {
		t.Error("a launch that was refused left a lock")
	}
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"status --bare", "launch --stop --bare"} {
		out, _ := exec.Command(filepath.Join(bin, "git-ward"), append(strings.Fields(verb), h.bare)...).CombinedOutput()
		if !strings.Contains(string(out), "cannot be seen from here, runs on ") || strings.Contains(string(out), "nothing runs") {
			t.Errorf("%s without the lock's file:\n%s", verb, out)
		}
	}
	copied := h.start("--bare", backup, "--unfenced", "--once", "--state", filepath.Join(filepath.Dir(h.bare), "copied"))
	if code := copied.exit(); code != 0 {
		t.Errorf("a launch of a copy: exit %d\n%s", code, &copied.err)
	}
	first.Process.Kill()
	await.Exit(t, first.Cmd)
	await.True(t, "the agent is gone", func() bool { return !alive(r.PID) })
	next := h.start("--bare", h.bare, "--unfenced", "--once", "--state", other)
	if code := next.exit(); code != 0 || alive(r.Kid) {
		t.Errorf("after a killed one: exit %d, its agent's child lives: %t\n%s", code, alive(r.Kid), &next.err)
	}
}

// TestOneLauncher: a second one is refused and names the first.
func TestOneLauncher(t *testing.T) {
	tier.First(t, "it launches real processes")
	t.Parallel()
	h := newHouse(t, "polite")
	first := h.unfenced()
	h.report()
	second := h.unfenced()
	if code := second.exit(); code != 2 {
		t.Errorf("exit %d", code)
	}
	want := fmt.Sprintf("error: another launcher, process %d, works on %s\ngit-ward: hint: `git ward launch --stop --bare %[2]s`", first.Process.Pid, h.bare)
	if !strings.Contains(second.err.String(), want) {
		t.Errorf("stderr lacks %q:\n%s", want, &second.err)
	}
	first.Process.Signal(syscall.SIGTERM)
	first.exit()
}
