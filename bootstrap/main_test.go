package bootstrap_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ward/bootstrap/command"
	"git-ward/bootstrap/statedir"
	"git-ward/bootstrap/supervisor"
	"git-ward/internal/await"
	"git-ward/internal/cli"
	"git-ward/internal/configtest"
	"git-ward/internal/gittest"
	"git-ward/internal/process"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// jumpVar lets the test binary be a watcher whose wall clock jumps.
const jumpVar = "BOOTSTRAP_TEST_JUMPING_CLOCK"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == supervisor.Verb {
		cli.Main("ward-watcher", command.Watcher)
	}
	if os.Getenv(jumpVar) != "" {
		cli.Main("ward-watcher", func(ctx context.Context, env *cli.Env) error {
			return command.WithClock(ctx, env, func() time.Time {
				return time.Now().Add(time.Duration(rand.Int64N(int64(20000*time.Hour))) - 10000*time.Hour)
			})
		})
	}
	flag.Parse()
	flag.Set("test.parallel", "8") // they wait most of the time
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// library is what the agents of these tests begin with: real processes that speak
// to the watcher as any agent does. An agent is told from two by a lock; what it starts
// must not have it (9>&-), because that may outlive a watcher that is killed.
const library = `S=$(dirname "$(dirname "$WARD_BOOT_LOG")")
exec 9>"$S/one"
flock -n 9 || echo "two at once" >>"$S/two"
ok() { read -r word <&3; echo "SUCCESS $WARD_BRANCH $WARD_COMMIT $word" >&3; }
signal() { printf '%s\n' "$2" >"$S/.signal/.$$"; mv "$S/.signal/.$$" "$S/.signal/$1" 9>&-; }
`

// steadily is an agent that starts and stays.
const steadily = library + "ok\n" + `while [ ! -e "$S/.signal/bootstrap" ] && [ ! -e "$S/.signal/rollback" ]; do sleep 0.1 9>&-; done` + "\n"

// handover is an agent on a branch that does what it must and goes back to main.
const handover = library + "ok\nsignal bootstrap main\n"

// site is a guarded repository whose agent is agent.sh of each commit, and a
// watcher on it.
type site struct {
	*gittest.Pair
	project string // the branch with the agent, and control the one with COMMS.md
	control string
	state   string
	binary  string
	env     []string
	watcher *exec.Cmd
	out     buffer
	err     buffer
}

// buffer may be read while a process writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newSite makes a site with an agent on main; settings are lines for [bootstrap]
// and [guard] in place of the shipped ones.
func newSite(t testing.TB, agent string, settings ...string) *site {
	t.Helper()
	tier.First(t, "it runs Ward's binaries, a watcher with agents; the parts have quick tests of their own")
	return makeSite(t, gittest.New(t), "main", "main", agent, settings...)
}

func makeSite(t testing.TB, pair *gittest.Pair, project, control, agent string, settings ...string) *site {
	t.Helper()
	s := &site{Pair: pair, project: project, control: control}
	dir := filepath.Dir(s.Bare)
	s.state = filepath.Join(dir, "state")
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	s.binary = filepath.Join(bin, "ward-watcher")
	s.set(append([]string{`run = ["sh", "agent.sh"]`, `start_timeout = "5m"`, `check = "1s"`, `probation = false`}, settings...)...)
	s.main(agent)
	t.Cleanup(func() {
		s.kill()
		s.endLeftovers()
		if t.Failed() {
			t.Logf("bootstrap.log:\n%s\nstderr:\n%s", s.read("logs/bootstrap.log"), tailOf(s.err.String()))
		}
	})
	return s
}

// endLeftovers ends what a killed watcher left at work in this site's directory:
// a push goes on without the one who asked for it.
func (s *site) endLeftovers() {
	dir := filepath.Dir(s.Bare) + "/"
	await.True(s.T, "what is at work in "+dir+" has ended", func() bool {
		left := 0
		for _, p := range process.All() {
			cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.PID))
			if strings.HasPrefix(cwd+"/", dir) && !p.Dead {
				syscall.Kill(p.PID, syscall.SIGKILL)
				left++
			}
		}
		return left == 0
	})
}

func tailOf(text string) string { return text[max(0, len(text)-8000):] }

// set changes lines of the settings, by their keys.
func (s *site) set(lines ...string) {
	s.T.Helper()
	configtest.Set(s.T, s.Bare, lines...)
}

// main pushes an agent to the project's branch and returns its commit.
func (s *site) main(agent string) string {
	s.T.Helper()
	for tries := 0; ; tries++ {
		s.Git("fetch", "--quiet")
		s.Git("checkout", "--quiet", "-B", s.project, "origin/"+s.project)
		s.Commit("agent.sh", agent)
		out, err := s.Push(s.project)
		if err == nil {
			return s.head()
		}
		if tries == 10 || !strings.Contains(out, "! [rejected]") { // a report of the watcher's may come between
			s.T.Fatalf("%v: %s", err, out)
		}
	}
}

// branch pushes an agent to a branch and returns its commit.
func (s *site) branch(name, agent string) string {
	s.T.Helper()
	s.Git("checkout", "--quiet", "-B", name, "origin/"+s.project)
	s.Commit("agent.sh", agent)
	s.Git("push", "--quiet", "--force", "origin", name)
	return s.head()
}

func (s *site) head() string {
	s.T.Helper()
	return strings.TrimSpace(s.Git("rev-parse", "HEAD"))
}

// start starts a watcher.
func (s *site) start(args ...string) {
	s.T.Helper()
	s.watcher = exec.Command(s.binary, append([]string{"--bare", s.Bare, "--state", s.state, "--config", filepath.Join(s.Bare, "ward/config.toml")}, args...)...)
	s.watcher.Env = append(append([]string{}, s.Env...), s.env...)
	s.watcher.Dir = filepath.Dir(s.Bare)
	s.watcher.Stdout, s.watcher.Stderr = &s.out, &s.err
	s.watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.watcher.Start(); err != nil {
		s.T.Fatal(err)
	}
}

// kill is kill -9 of the watcher.
func (s *site) kill() {
	if s.watcher != nil {
		s.watcher.Process.Kill()
		await.Exit(s.T, s.watcher)
		s.watcher = nil
	}
}

// agents are the agents that run: the watcher's children with its variables.
func (s *site) agents() (pids []int) {
	for _, p := range process.All() {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
		if err == nil && !p.Dead && bytes.Contains(data, []byte(boot.LogVar+"="+s.state+"/")) && (s.watcher == nil || p.Parent == s.watcher.Process.Pid) {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// agent is the one that runs. While it executes a program it has no variables.
func (s *site) agent() (pid int) {
	s.T.Helper()
	s.until("an agent runs", func() bool {
		all := s.agents()
		if len(all) == 1 {
			pid = all[0]
		}
		return len(all) == 1
	})
	return pid
}

func (s *site) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(s.state, name))
	return string(data)
}

// signal writes a signal as an agent does.
func (s *site) signal(kind, name string) {
	s.T.Helper()
	temp := filepath.Join(s.state, ".signal", ".test-"+kind)
	if err := os.WriteFile(temp, []byte(name+"\n"), 0o644); err != nil {
		s.T.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(s.state, ".signal", kind)); err != nil {
		s.T.Fatal(err)
	}
}

// history is bootstrap.log, checked: each start has one end, and no end is of
// another start than the last.
func (s *site) history() []boot.Entry {
	s.T.Helper()
	var list []boot.Entry
	for line := range strings.Lines(s.read("logs/bootstrap.log")) {
		e, err := boot.Parse(strings.TrimSuffix(line, "\n"))
		if err != nil {
			s.T.Errorf("bootstrap.log: %q: %v", line, err)
			continue
		}
		list = append(list, e)
	}
	var open *boot.Entry
	for i, e := range list {
		switch e.Event {
		case boot.Bootstrapping:
			if open != nil {
				s.T.Errorf("bootstrap.log: %v has no end before %v", open, e)
			}
			open = &list[i]
		case boot.Success:
			if open == nil || open.Branch != e.Branch || open.Commit != e.Commit {
				s.T.Errorf("bootstrap.log: %v is the end of no start", e)
			}
			open = nil
		case boot.Failure:
			if open != nil && open.Branch == e.Branch && open.Commit == e.Commit {
				open = nil
			}
		}
	}
	return list
}

// events are the history's, as words.
func (s *site) events() []string {
	var words []string
	for line := range strings.Lines(s.read("logs/bootstrap.log")) {
		if e, err := boot.Parse(strings.TrimSuffix(line, "\n")); err == nil {
			words = append(words, string(e.Event)+" "+e.Branch)
		}
	}
	return words
}

// await waits for the log to hold these events, in this order, others between.
func (s *site) await(want ...string) {
	s.T.Helper()
	s.until(strings.Join(want, ", "), func() bool {
		left := want
		for _, e := range s.events() {
			if len(left) > 0 && e == left[0] {
				left = left[1:]
			}
		}
		return len(left) == 0
	})
}

// awaitLast waits until the last event is of a commit.
func (s *site) awaitLast(event boot.Event, commit string) {
	s.T.Helper()
	s.until(string(event)+" "+commit, func() bool {
		text := strings.TrimSpace(s.read("logs/bootstrap.log"))
		e, err := boot.Parse(text[strings.LastIndex(text, "\n")+1:])
		return err == nil && e.Event == event && e.Commit == commit
	})
}

// until waits for what other processes do. It looks, because they tell nobody.
func (s *site) until(what string, is func() bool) {
	s.T.Helper()
	await.True(s.T, what, is)
}

// reports are those of COMMS.md with a status.
func (s *site) reports(status comms.Status) (list []comms.Report) {
	s.T.Helper()
	doc, _ := comms.Parse([]byte(s.Run(s.Bare, "git", "show", s.control+":COMMS.md")))
	for _, r := range doc.Reports {
		if r.Status == status {
			list = append(list, r)
		}
	}
	return list
}

// onlyOne fails when two agents ran at once.
func (s *site) onlyOne() {
	s.T.Helper()
	if s.read("two") != "" {
		s.T.Error("two agents ran at once")
	}
}

// logsSize is what logs/ takes on the disk, in bytes.
func (s *site) logsSize() int64 { return (&statedir.Dir{Path: s.state}).LogsSize() }

func (s *site) missing(name string) bool {
	_, err := os.Lstat(filepath.Join(s.state, name))
	return os.IsNotExist(err)
}

// last is the last entry of the history with an event.
func last(list []boot.Entry, event boot.Event) (e boot.Entry) {
	for _, e := range slices.Backward(list) {
		if e.Event == event {
			return e
		}
	}
	return e
}
