package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
)

// site is a remote, settings, and the real binary.
type site struct {
	testing.TB
	dir, binary string
}

const (
	prompt   = "You are an agent.\n"
	document = "# COMMS\n## Directives\n### D-1: one\n### D-2: two\n## Reports\n"
)

// build gives the real binary, with the others of Ward's beside it.
func build(t testing.TB) string {
	t.Helper()
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, "ward-agent")
}

// cleaner removes what was built when the tests have run.
type cleaner struct{ *testing.M }

func (c cleaner) Run() int {
	defer gittest.Clean()
	return c.M.Run()
}

func newSite(t testing.TB, binary, script string) *site {
	s := &site{t, t.TempDir(), binary}
	settings, err := os.ReadFile("../../../config.toml")
	if err != nil {
		t.Fatal(err)
	}
	s.write("config.toml", playing(string(settings)))
	s.git("init", "--quiet", "--bare", "remote.git")
	s.git("init", "--quiet", "--initial-branch=main", "pm")
	s.write("pm/SYSTEM.md", prompt)
	if err := writeMeta(s.path("pm")); err != nil {
		t.Fatal(err)
	}
	s.write("pm/script.jsonl", script)
	s.publish(document)
	return s
}

// turns is a script of the model's.
func turns(t testing.TB, text string) string {
	t.Helper()
	script, err := modeltest.Turns(text)
	if err != nil {
		t.Fatal(err)
	}
	return script
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name, content string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte(content), 0o644); err != nil {
		s.Fatal(err)
	}
}

// publish pushes a COMMS.md to main as the PM.
func (s *site) publish(document string) {
	s.Helper()
	s.write("pm/COMMS.md", document)
	s.git("-C", "pm", "add", "--all")
	s.git("-C", "pm", "commit", "--quiet", "--message=directives")
	s.git("-C", "pm", "push", "--quiet", s.path("remote.git"), "HEAD:main")
}

func (s *site) git(args ...string) string {
	s.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=PM", "GIT_AUTHOR_EMAIL=pm@example.org", "GIT_COMMITTER_NAME=PM", "GIT_COMMITTER_EMAIL=pm@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// agent is the command, not started.
func (s *site) agent(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(s.binary, append([]string{"--bare=remote.git", "--state=state", "--config=config.toml"}, args...)...)
	cmd.Dir = s.dir
	log := new(bytes.Buffer)
	cmd.Stderr = log
	return cmd, log
}

func (s *site) reports() []comms.Report {
	doc, _ := comms.Parse([]byte(s.git("-C", "remote.git", "show", "main:COMMS.md")))
	return doc.Reports
}

// TestKill kills the agent again and again, at any moment, until it comes to its
// end: the work ends once (AGT-5).
func TestKill(t *testing.T) {
	tier.Full(t, "an agent killed at random moments")
	binary := build(t)
	script := turns(t, `
turn
write_file {directive}/a
\ a
bash git add -A; git commit -qm by-model; setsid sleep 1000 & git push -q
turn
bash sleep 0.05; mkdir -p {directive}; echo b >{directive}/b
turn
say {directive} is done
`)
	// The sleep before the second file is a moment for a kill between the two.
	command := `command = ["bash", "-c", '''
mkdir -p $0; echo a >$0/a; git add -A; git commit -qm by-command
setsid sleep 1000 & git push -q
sleep 0.05; echo b >$0/b''', "{directive}"]`
	for round, args := range [][]string{nil, nil, {"--door", "door.sock"}, {"--model", "exec"}} {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, binary, script)
			switch {
			case args == nil:
			case args[0] == "--door": // behind it a push goes on without the agent
				serveDoor(t, s, args[1])
			default:
				settings, err := os.ReadFile(s.path("config.toml"))
				if err != nil {
					t.Fatal(err)
				}
				s.write("config.toml", strings.Replace(string(settings), "command = []", command, 1))
			}
			random := rand.New(rand.NewPCG(tier.Seed(t), uint64(round)))
			kills := s.killUntilDone(random, args)
			s.checkEndedOnce(args == nil || args[0] == "--door")
			t.Logf("%d kills", kills)
		})
	}
}

// killUntilDone gives the agent more time with each kill, so that some hit every
// phase, and lets it run after 15.
func (s *site) killUntilDone(random *rand.Rand, args []string) (kills int) {
	for {
		cmd, log := s.agent(append(args, "--once")...)
		if err := cmd.Start(); err != nil {
			s.Fatal(err)
		}
		delay := time.Duration(random.IntN(150+20*kills)) * time.Millisecond
		if kills < 15 {
			time.Sleep(delay) // the random moment itself
			cmd.Process.Kill()
		}
		switch err := await.Exit(s, cmd); {
		case err == nil:
			return kills
		case kills == 15:
			s.Fatalf("after %d kills: %v\n%s", kills, err, log)
		default:
			kills++
			s.Logf("killed after %v:\n%s", delay, log)
		}
	}
}

func (s *site) checkEndedOnce(planned bool) {
	s.Helper()
	if out := s.git("-C", "remote.git", "fsck", "--strict"); strings.Contains(out, "error") {
		s.Error(out)
	}
	if refs := s.git("-C", "remote.git", "for-each-ref", "--format=%(refname)"); refs != "refs/heads/agent/D-1\nrefs/heads/agent/D-2\nrefs/heads/main\n" {
		s.Errorf("refs:\n%s", refs)
	}
	reports := s.reports()
	if len(reports) != 2 || reports[0].Directive != "D-1" || reports[1].Directive != "D-2" {
		s.Errorf("reports: %+v", reports)
	}
	for _, d := range []string{"D-1", "D-2"} {
		if log := s.git("-C", "remote.git", "log", "main..agent/"+d); strings.Count(log, "Ward-Work: done") != 1 {
			s.Errorf("the work on %s ends more or less than once:\n%s", d, log)
		}
		files := s.git("-C", "remote.git", "ls-tree", "-r", "--name-only", "agent/"+d, d, "COMMS.md", "SYSTEM.md", "script.jsonl")
		if want := "COMMS.md\n" + d + "/a\n" + d + "/b\nSYSTEM.md\nscript.jsonl\n"; files != want {
			s.Errorf("%s holds\n%s", d, files)
		}
		if !planned {
			continue
		}
		var want []string
		for n := range 7 {
			want = append(want, fmt.Sprintf("plans/%s.plan.txt#%d", d, n+1))
		}
		// Without the loop there is no unit, and the record stays in the clone.
		steps := s.git("-C", "state/agent/"+d+"/remote", "log", "--reverse", "--first-parent", "--format=%(trailers:key=Ward-Step,valueonly,separator=%x20)",
			"refs/ward/record/"+d+".0")
		if got := strings.Fields(steps); !slices.Equal(got, want) {
			s.Errorf("steps of %s: %v", d, got)
		}
	}
	if left := taggedBy(s.path("state")); len(left) > 0 {
		s.Errorf("left running: %v", left)
	}
}

// taggedBy lists command lines of what an agent started.
func taggedBy(state string) (left []string) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("WARD_AGENT_STATE="+state+"\x00")) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			left = append(left, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return left
}

// TestForever runs without --once: a push is seen within a second (AGT-6), and
// SIGTERM is a clean end.
func TestForever(t *testing.T) {
	tier.Full(t, "an agent that runs for many seconds")
	s := newSite(t, build(t), `{"text":"done"}`)
	cmd, log := s.agent()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	s.await(2)
	s.git("-C", "pm", "pull", "--quiet", "--ff-only", s.path("remote.git"), "main")
	old, err := os.ReadFile(s.path("pm/COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	s.publish(strings.Replace(string(old), "## Reports", "### D-3: three\n## Reports", 1))
	s.await(3)
	cmd.Process.Signal(syscall.SIGTERM)
	if err := await.Exit(t, cmd); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, log)
	}
}

// await waits for reports of the agent, which works in another process and tells
// nobody but the repository.
func (s *site) await(reports int) {
	s.Helper()
	await.True(s, fmt.Sprint(reports, " reports"), func() bool { return len(s.reports()) >= reports })
}

// TestDoor pushes through a socket that serves receive-pack, as the launcher's
// does, into a repository that the agent could not write otherwise.
func TestDoor(t *testing.T) {
	tier.First(t, startsAgents)
	s := newSite(t, build(t), turns(t, "turn\nbash echo x >x; git add -A; git commit -qm x; git push -q\n"))
	name := "it's a door" // has to be quoted on the way through a shell
	served := serveDoor(t, s, name)
	cmd, log := s.agent("--once", "--door", name)
	if err := await.Run(t, cmd); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if reports := s.reports(); len(reports) != 2 {
		t.Errorf("%d reports\n%s", len(reports), log)
	}
	// By the step itself; by the agent, which sees that the branch has moved, and then again;
	// and the report; for two directives.
	if n := served(); n != 8 {
		t.Errorf("%d pushes came through the door, not 8", n)
	}
}

func serveDoor(t *testing.T, s *site, name string) (served func() int) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "unix", s.path(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	count := make(chan int, 1)
	count <- 0
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			count <- <-count + 1
			cmd := exec.Command("git", "receive-pack", s.path("remote.git"))
			cmd.Stdin, cmd.Stdout = conn, conn
			cmd.Run()
			conn.Close()
		}
	}()
	return func() int { n := <-count; count <- n; return n }
}

// TestNoDoor says which door is missing instead of hanging.
func TestNoDoor(t *testing.T) {
	tier.First(t, startsAgents)
	s := newSite(t, build(t), `{"text":"done"}`)
	cmd, log := s.agent("--once", "--door", "nowhere.sock")
	if err := await.Run(t, cmd); err == nil {
		t.Error("a push went through no door")
	}
	if !strings.Contains(log.String(), "the door is not there: dial unix") {
		t.Error(log)
	}
	connect := exec.Command(s.binary, "connect", s.path("nowhere.sock"), "/some/repository")
	out, _ := await.Output(t, connect)
	if code := connect.ProcessState.ExitCode(); code != 2 || !strings.HasPrefix(out, "ward-agent: error: the door is not there") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestConnect ends when the door does, though stdin stays open.
func TestConnect(t *testing.T) {
	tier.First(t, startsAgents)
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		line := make([]byte, 5)
		io.ReadFull(conn, line)
		fmt.Fprintf(conn, "got %s", line)
		conn.Close()
	}()
	cmd := exec.Command(build(t), "connect", socket)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "hello")
	if err := await.Exit(t, cmd); err != nil || out.String() != "got hello" {
		t.Errorf("%v, %q", err, out.String())
	}
}
