package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/sandbox/lab"
	"git-ward/sandbox/podman"
)

// TestRuntimes: the fence is the same with every runtime that is here, and one that goes
// round the rules starts nothing (SBX-1, SBX-6).
func TestRuntimes(t *testing.T) {
	tier.Full(t, "it launches containers")
	m := newMachine(t)
	// crun knows cgroups of version 1, and of version 2, and not both beside each other.
	m.sh("[ ! -d /sys/fs/cgroup/unified ] || mount --bind /run/networks /sys/fs/cgroup/unified")
	t.Run("podman's own default", func(t *testing.T) { testDefaultOfPodman(t, m) })
	for i, runtime := range []string{"crun", "runsc", "krun"} {
		t.Run(runtime, func(t *testing.T) {
			path, err := exec.LookPath(runtime)
			if err != nil {
				t.Skipf("SKIPPED: the runtime %s is not installed", runtime)
			}
			if _, err := os.Stat("/dev/kvm"); runtime == "krun" && err != nil {
				t.Skip("SKIPPED: krun needs /dev/kvm")
			}
			m.set(`[sandbox] runtime = "` + runtime + `"`)
			if err := podman.RuntimeTooOld(t.Context(), runtime, path); err != nil {
				m.startsNothing(t, "is too old", "hint: ")
				t.Skipf("SKIPPED: %v", err)
			}
			t.Run("holds", func(t *testing.T) { testRuntime(t, m, runtime) })
			t.Run("works", func(t *testing.T) { testDirective(t, m, runtime, fmt.Sprintf("D-%d", i+1)) })
			t.Run("its watcher reports", func(t *testing.T) { testWatcherReports(t, m, runtime) })
			t.Run("dies at its trial", func(t *testing.T) { testKilledTrial(t, m, runtime, path) })
			if runtime == "runsc" {
				t.Run("goes round the rules", func(t *testing.T) { testRoundTheRules(t, m, path) })
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		m.set(`[sandbox] runtime = "kata"`)
		m.startsNothing(t, "not one of runc, crun, runsc, krun")
	})
	t.Run("not installed", func(t *testing.T) {
		missing := "krun"
		if _, err := exec.LookPath(missing); err == nil {
			t.Skip("SKIPPED: krun is installed, and no other is missing for sure")
		}
		m.set(`[sandbox] runtime = "` + missing + `"`)
		m.startsNothing(t, "the runtime krun is not installed", "hint: ")
	})
	m.set(`[sandbox] runtime = "runc"`)
	m.Fsck()
}

// testDefaultOfPodman: what podman makes containers with where nobody says is not asked,
// though it starts nothing: crun, once it is installed, on a machine with cgroups of both
// versions.
func testDefaultOfPodman(t *testing.T, m *machine) {
	conf := filepath.Join(t.TempDir(), "containers.conf")
	if err := os.WriteFile(conf, []byte("[engine]\nruntime = \"crun\"\n[engine.runtimes]\ncrun = [\"/bin/false\"]\nrunc = [\"/bin/false\"]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	old := m.Env
	m.Env = append(old[:len(old):len(old)], "CONTAINERS_CONF="+conf)
	defer func() { m.Env = old }()
	if out, err := m.in("", "echo inside"); err != nil || !strings.Contains(out, "inside\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

// testDirective: a directive from push to report, and its verdict is of the same runtime.
func testDirective(t *testing.T, m *machine, runtime, id string) {
	testAgent(t, m, id)
	verdict := m.Run(m.Bare, "git", "notes", "--ref=certificates", "show", verdictCommit(t, m.Pair, id))
	if !strings.Contains(verdict, `"fence":"podman/`+runtime+`"`) {
		t.Error(verdict)
	}
}

// testRuntime: the probe finds nothing broken, what is open and shut is as with runc, and
// a verdict is from the same runtime.
func testRuntime(t *testing.T, m *machine, runtime string) {
	for _, mode := range []string{"public", "allowlist"} {
		m.set(`[egress] mode = "` + mode + `"`)
		out, _ := m.Try(m.Work, nil, "", "git-ward", "probe", "--bare", m.Bare)
		t.Logf("%s, %s:\n%s", runtime, mode, out)
		if !strings.Contains(out, " promises tried, ") {
			t.Errorf("%s: no probe", mode)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "BROKEN") {
				t.Errorf("%s: %s", mode, line)
			}
		}
	}
	m.set(`[egress] mode = "public"`)
	p := m.probe(t)
	answered(t, open, p.Try(open))
	if len(m.containers()) == 0 {
		t.Error("its container is not seen; that none stays would prove nothing")
	}
	m.world.Seen()
	for _, a := range roundTheRules {
		if o := p.Try([]lab.Attempt{a})[0]; o.Err == "" {
			t.Errorf("%s, %v: %v", a.What, a, o)
		}
	}
	if seen := m.world.Seen(); len(seen) > 0 {
		t.Errorf("the world saw %v", seen)
	}
	out, err := m.Try(m.Work, nil, "", "git-ward", "verify", "--bare", m.Bare, "--json", "refs/heads/main", "--run", "git rev-parse HEAD")
	if err != nil || !strings.Contains(out, `"fence":"podman/`+runtime+`"`) {
		t.Errorf("a verdict: %v\n%s", err, out)
	}
}

// roundTheRules is what answers on the machine to whoever no rules stop.
var roundTheRules = []lab.Attempt{
	attempt("private 10/8", "tcp", "10.1.2.3", 80),
	attempt("private 10/8", "udp", "10.1.2.3", 4444),
	attempt("cloud metadata", "tcp", "169.254.169.254", 80),
	attempt("the host, another address", "tcp", hostAddr, 22),
}

// testRoundTheRules: gVisor's own network goes round rules that read back fine. Where its
// containers pass for runc's, which try nothing before a start, the attack gets through;
// where they are its own, nothing starts.
func testRoundTheRules(t *testing.T, m *machine, path string) {
	own := fmt.Sprintf(`for a; do shift; case $a in --network=*) ;; *) set -- "$@" "$a" ;; esac; done
exec %s --network=sandbox --host-uds=open "$@"`, path)
	t.Run("untried", func(t *testing.T) {
		m.set(`[sandbox] runtime = "runc"`)
		defer m.instead(t, "runc", own)()
		p := m.probe(t)
		for i, o := range p.Try(roundTheRules) {
			t.Logf("%s: %v", roundTheRules[i].What, o)
			if o.Err != "" {
				t.Errorf("%s: %v; the test proves nothing", roundTheRules[i].What, o)
			}
		}
	})
	t.Run("tried", func(t *testing.T) {
		m.set(`[sandbox] runtime = "runsc"`)
		defer m.instead(t, "runsc", own)()
		m.startsNothing(t, "the fence does not hold: ", "SBX-2")
		m.set(`[verify] network = "public"`) // with "none" there is nothing to go round
		defer m.set(`[verify] network = "none"`)
		out, err := m.Try(m.Work, nil, "", "git-ward", "verify", "--bare", m.Bare, "--json", "refs/heads/main", "--run", "true")
		if err == nil || !strings.Contains(out, "the fence does not hold: ") || strings.Contains(out, `"exit":0`) {
			t.Errorf("a verdict: %v\n%s", err, out)
		}
	})
}

// testKilledTrial: a container that is killed before it has said that its fence holds has
// started nothing.
func testKilledTrial(t *testing.T, m *machine, runtime, path string) {
	// The verb follows flags, and the container's id ends the line. Killed at its start, not
	// after it: the trial takes a moment only.
	defer m.instead(t, runtime, fmt.Sprintf(`for a; do last=$a; [ "$a" != start ] || starting=yes; done
[ -z "$starting" ] || exec %[1]s kill "$last" KILL
exec %[1]s "$@"`, path))()
	m.startsNothing(t, "git-ward: error: ")
}

// instead puts a script in the place of a runtime, until the returned function is called.
func (m *machine) instead(t *testing.T, runtime, script string) (restore func()) {
	t.Helper()
	dir := t.TempDir()
	gittest.Program(t, filepath.Join(dir, runtime), "#!/bin/sh\n"+script+"\n")
	old := m.Env
	m.Env = append(m.Env[:len(m.Env):len(m.Env)], "PATH="+dir+":"+os.Getenv("PATH"))
	for _, v := range old {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			m.Env[len(m.Env)-1] = "PATH=" + dir + ":" + path
		}
	}
	return func() { m.Env = old }
}

// startsNothing wants a launch to end with exit 2 and these words, and its command not to
// have run.
func (m *machine) startsNothing(t *testing.T, words ...string) {
	t.Helper()
	out, err := m.in("", "echo the command ran >&2")
	var exit *exec.ExitError
	if !asExit(err, &exit) || exit.ExitCode() != 2 || strings.Contains(out, "the command ran") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, word := range words {
		if !strings.Contains(out, word) {
			t.Errorf("no %q in:\n%s", word, out)
		}
	}
	t.Log(out)
	if left := m.containers(); len(left) != 0 {
		t.Errorf("%v stay", left)
	}
}

// testWatcherReports: what the watcher has to tell goes through its own door, which the
// agent, whose signal it tells of, does not reach (HOOK-4b).
func testWatcherReports(t *testing.T, m *machine, runtime string) {
	m.set(`run = ["sh", "agent.sh"]`, `probation = false`)
	defer m.set(`run = []`)
	m.Git("fetch", "--quiet")
	m.Git("reset", "--quiet", "--hard", "origin/main")
	m.Commit("agent.sh", "# in "+runtime+"\n"+enter+`/ward/bin/ward-agent connect /ward/watcher/sock </dev/null >/tmp/answer; test ! -s /tmp/answer || exit 1
mkdir -p /bot/.signal/bootstrap/a
sleep 100
`)
	m.Commit("COMMS.md", toBeWatched)
	m.Git("push", "--quiet", "--force", "origin", "main")
	// What the watcher of the runtime before has told is forgotten.
	cmd := m.Command(m.Work, nil, "git-ward", "launch", "--reset", "--bare", m.Bare, "--state", filepath.Join(filepath.Dir(m.Bare), "state"), "--model", "script")
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer await.Exit(t, cmd)
	defer m.Try(m.Work, nil, "", "git-ward", "launch", "--stop", "--bare", m.Bare)
	await.True(t, "the watcher's report of a malformed signal", func() bool {
		told, _ := m.Try(m.Bare, nil, "", "git", "log", "-1", "--notes=audit", "--format=%an %N", "main")
		return strings.Contains(told, "Ward Watcher") && strings.Contains(told, `"principal":"watcher"`)
	})
}
