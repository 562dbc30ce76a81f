package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/bootstrap/supervisor"
	"git-ward/internal/process"
	"git-ward/internal/tier"
)

// TestMain lets the test binary be ward-watcher's hidden verb, by which a supervisor
// starts everything.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "thief" {
		fmt.Println(thief(os.Args[2]))
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == supervisor.Verb {
		fmt.Println(supervisor.Limited(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// become makes the test process a supervisor. Its end of a command ends every other
// child of this process, so no test here is parallel.
func become(t *testing.T) *supervisor.Supervisor {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := supervisor.Become(self, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sh(line string) supervisor.Command {
	return supervisor.Command{Args: []string{"sh", "-c", line}, Dir: "/", Time: time.Minute}
}

// noneLeft fails when a process that came from this one is alive or not reaped.
func noneLeft(t *testing.T, after string) {
	t.Helper()
	if left := process.Descendants(); len(left) > 0 {
		t.Errorf("left after %s: %+v", after, left)
	}
}

func TestRun(t *testing.T) {
	s := become(t)
	for line, want := range map[string]string{
		"cat; echo $WHAT $PWD; echo err >&2": "typed\nyes /\nerr\n; <nil>",
		"exit 3":                             "; exit 3",
		"kill -9 $$":                         "; killed by signal 9, killed",
		"ulimit -c; cut -d\" \" -f19 /proc/self/stat; cat /proc/self/oom_score_adj":                   "0\n5\n500\n; <nil>",
		"setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' >/dev/null 2>&1 & sleep 0.05; echo a": "a\n; <nil>", // the time to get away
	} {
		var out bytes.Buffer
		c := sh(line)
		c.Stdin, c.Env, c.Output = "typed\n", []string{"WHAT=yes"}, &out
		err := s.Run(t.Context(), c)
		if got := out.String() + fmt.Sprint("; ", err); got != want {
			t.Errorf("%s: %q", line, got)
		}
		noneLeft(t, line)
	}
}

func TestRunStopped(t *testing.T) {
	s := become(t)
	late := sh("sleep 1000")
	late.Time = 50 * time.Millisecond
	var timeout *process.TimeoutError
	if err := s.Run(t.Context(), late); !errors.As(err, &timeout) || err.Error() != "it ran longer than 50ms" {
		t.Error(err)
	}
	loud := sh("yes")
	loud.Limit, loud.Output = 1<<20, &supervisor.Tail{}
	var output *process.OutputError
	if err := s.Run(t.Context(), loud); !errors.As(err, &output) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ended, sh("true")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var out bytes.Buffer
	nothing := supervisor.Command{Args: []string{"/nowhere/at/all"}, Dir: "/", Output: &out}
	if err := s.Run(t.Context(), nothing); err == nil || !strings.Contains(out.String(), "no such file") {
		t.Errorf("%v, %s", err, &out)
	}
	noneLeft(t, "all")
}

// TestLimited is called by a supervisor that lives, or not at all.
func TestLimited(t *testing.T) {
	for _, words := range [][]string{nil, {"1", "0"}, {"x", "0", "true"}, {"1", "x", "true"}, {"1", "-1", "true"}} {
		if err := supervisor.Limited(words); !errors.Is(err, supervisor.ErrWords) {
			t.Errorf("%q: %v", words, err)
		}
	}
	var out bytes.Buffer
	self, _ := os.Executable()
	orphan := process.Command{Args: []string{self, supervisor.Verb, "1", "0", "true"}, Env: os.Environ(), Stdout: &out, Stderr: &out}
	if status, _, err := orphan.Run(t.Context()); err != nil || status.OK() || out.String() != "the watcher is gone\n" {
		t.Errorf("%v %v %s", status, err, &out)
	}
}

// up is how a shell answers that it is up.
const up = `up() { read -r word <&3; echo "SUCCESS main c $word" >&3; }; `

// agent is a shell script that says by a file that it wrote a signal.
func agent(t *testing.T, line string) (a supervisor.Agent, launcher *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	exists := func(name string) func() bool {
		return func() bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		}
	}
	launcher = &bytes.Buffer{}
	return supervisor.Agent{
		Command: supervisor.Command{Args: []string{"sh", "-c", up + line}, Dir: dir},
		Tee:     supervisor.NewTee(&bytes.Buffer{}, launcher, io.Discard), StartTimeout: time.Minute,
		Branch: "main", Commit: "c", OnBooted: func() {}, Signaled: exists("signal"),
		Limits: supervisor.Limits{CPU: 100, Window: time.Hour, Memory: 1 << 40, Logs: 1 << 40}, LogsSize: func() int64 { return 0 },
	}, launcher
}

// watched is a run of an agent, and how it ends.
type watched struct {
	name, line string
	change     func(*supervisor.Agent)
	want       string // code, booted, signaled, why
}

func TestWatch(t *testing.T) {
	testWatch(t, []watched{
		{"ends", "up; exit 3", nil, "3 true false exit 3"},
		{"does not start", "echo no such thing >&2; exit 7", nil, "7 false false exit 7: no such thing"},
		{"is killed", "kill -9 $$", nil, "137 false false killed by signal 9, killed"},
		{"signals and ends", "up; touch signal; exit 0", nil, "0 true true exit 0"},
	})
}

// TestWatchLooks is what the watcher sees when it looks, a half second and more each.
func TestWatchLooks(t *testing.T) {
	tier.Full(t, "it waits for the watcher's looks")
	testWatch(t, []watched{
		{"is late", "trap '' TERM; echo here; while :; do sleep 0.01; done", func(a *supervisor.Agent) { a.StartTimeout = time.Second }, "137 false false no SUCCESS within 1s, which is an answer on descriptor 3, WARD_BOOT_FD: here"},
		{"signals and stays for a while", "up; touch signal; sleep 0.7; exit 0", nil, "0 true true exit 0"},
		{"prints too much", "up; cat /dev/zero", func(a *supervisor.Agent) { a.Limits.Logs = 1 << 20 }, "own logs 143 true false ended by a guard: logs"},
		{"fills its logs", "up; exec sleep 1000", func(a *supervisor.Agent) { a.LogsSize = func() int64 { return 1 << 41 } }, "logs 143 true false ended by a guard: logs"},
		{"takes memory", "up; exec sleep 1000", func(a *supervisor.Agent) { a.Limits.Memory = 1 }, "own memory 143 true false ended by a guard: memory"},
		{"runs what takes memory", "(" + hog + ") & up; wait", func(a *supervisor.Agent) { a.Limits.Memory = 100 << 20 }, "memory 143 true false ended by a guard: memory"},
		{"takes memory below a shell", "sh -c '" + `read -r word <&3; echo "SUCCESS main c $word" >&3; ` + hog + "' & wait", func(a *supervisor.Agent) { a.Limits.Memory = 100 << 20 }, "own memory 143 true false ended by a guard: memory"},
		{"takes time", "up; (while :; do :; done) & wait", func(a *supervisor.Agent) { a.Limits.CPU, a.Limits.Window = 0.01, time.Second }, "cpu 143 true false ended by a guard: cpu"},
	})
}

// hog takes some 256 MiB, and stays.
const hog = `exec awk "BEGIN { s = \"0123456789abcdef\"; while (length(s) < 200000000) s = s s; while (1) x++ }"`

func testWatch(t *testing.T, runs []watched) {
	t.Helper()
	for _, c := range runs {
		s := become(t)
		a, _ := agent(t, c.line)
		booted := 0
		a.OnBooted = func() { booted++ }
		if c.change != nil {
			c.change(&a)
		}
		end, err := s.Watch(t.Context(), a)
		got := fmt.Sprintf("%d %v %v %s", end.Status.Code(), end.Booted, end.Signaled, end.Why)
		if end.Excess != nil {
			got = end.Excess.Kind + " " + got
			if end.Excess.Own {
				got = "own " + got
			}
		}
		if err != nil || got != c.want || end.Time == 0 || (booted == 1) != end.Booted {
			t.Errorf("%s: %q %v", c.name, got, err)
		}
		noneLeft(t, c.name)
	}
}

// TestWatchEnds when the watcher is told to.
func TestWatchEnds(t *testing.T) {
	s := become(t)
	a, _ := agent(t, "up; exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	a.OnBooted = cancel
	if end, err := s.Watch(ctx, a); err != nil || end.Why != "the watcher was told to end" || !end.Booted {
		t.Errorf("%+v %v", end, err)
	}
	noneLeft(t, "the end")
	a.Command.Dir = "/nowhere/at/all"
	if _, err := s.Watch(t.Context(), a); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestTee: the launcher gets what fits, and is told when it does not get all.
func TestTee(t *testing.T) {
	s := become(t)
	a, launcher := agent(t, "echo first; head -c 3000000 /dev/zero; echo last")
	if _, err := s.Watch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	text := launcher.String()
	if !strings.HasPrefix(text, "first\n") || !strings.Contains(text, "prints too much") || len(text) > 1<<20+64<<10 {
		t.Errorf("%d bytes, ended by %q", len(text), text[max(0, len(text)-100):])
	}
}

// TestTeeForged: no line of an agent's is one of the watcher's, where both are one stream: not by
// pieces, nor behind a line without an end, which the next agent goes on with.
func TestTeeForged(t *testing.T) {
	s := become(t)
	a, launcher := agent(t, "echo 'ward-watcher: passed 1'; printf 'ward-'; sleep 0.1; printf 'watcher: '; echo 'passed 2'; printf x")
	if _, err := s.Watch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	launcher.WriteString("ward-watcher: a line of the watcher's\n")
	a.Command.Args = []string{"sh", "-c", "echo; echo 'ward-watcher: passed 3'"}
	if _, err := s.Watch(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	const want = "agent: ward-watcher: passed 1\nagent: ward-watcher: passed 2\nward-watcher: a line of the watcher's\nx\nagent: ward-watcher: passed 3\n"
	if text := launcher.String(); text != want {
		t.Errorf("%q", text)
	}
}

// TestTeeEvents: what an agent tells of its work goes to who looks and nowhere else, whole and
// in its order; of too much of it the launcher gets a share, and is told.
func TestTeeEvents(t *testing.T) {
	s := become(t)
	for _, c := range []struct{ line, events, launcher string }{
		{"echo first; echo 'ward-live {1}'; printf 'ward-'; sleep 0.1; echo 'live {2}'; echo 'say ward-live {3}'; echo last",
			"ward-live {1}\nward-live {2}\n", "first\nsay ward-live {3}\nlast\n"},
		{`line="ward-live $(head -c 2000 /dev/zero | tr '\0' x)"; for i in $(seq 2000); do echo "$line"; done; echo last`,
			"left out: too much at once\n", "last\n"},
	} {
		a, launcher := agent(t, c.line)
		events := &bytes.Buffer{}
		tee := supervisor.NewTee(io.Discard, launcher, events)
		a.Tee = tee
		if _, err := s.Watch(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		tee.Flush()
		if got := events.String(); !strings.HasSuffix(got, c.events) || len(got) > 1<<20+64<<10 || launcher.String() != c.launcher {
			t.Errorf("%.60s: %d bytes, ended by %q; and %q", c.line, len(got), got[max(0, len(got)-100):], launcher)
		}
	}
}

func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for text, want := range map[string]string{
		"":                  "",
		"\n a \nb\n\n":      "a ; b",
		"a\x1b[31m":         "a\\x1b[31m",
		long:                long[:300],
		long + "\nlast one": "last one",
	} {
		var tail supervisor.Tail
		for _, c := range []byte(text) {
			tail.Write([]byte{c})
		}
		if got := supervisor.LastLines(text); got != want || tail.LastLines() != want {
			t.Errorf("%.20q: %q, %q", text, got, tail.LastLines())
		}
	}
	var tail supervisor.Tail
	for i := range 100_000 {
		fmt.Fprintln(&tail, i)
	}
	if got := tail.LastLines(); !strings.HasSuffix(got, "; 99998; 99999") {
		t.Errorf("%q", got)
	}
}
