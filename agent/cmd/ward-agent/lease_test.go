package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
	wardhost "git-ward/sandbox/host"
	"git-ward/sandbox/lease"
)

// newLauncher is a launcher's side of so many agents, which are the command's processes.
func newLauncher(s *site, slots int, run func(context.Context, *exec.Cmd, *wardhost.Job) error) *wardhost.Host {
	settings, err := config.Parse([]byte(s.read("config.toml")), "config.toml")
	if err != nil {
		s.Fatal(err)
	}
	book := &lease.Book{Repo: git.Open(s.path("remote.git")), Settings: settings, Launcher: "alpha"}
	return wardhost.New(wardhost.Spec{Book: book, Settings: settings, Log: zerolog.New(io.Discard), Name: "alpha", Slots: slots, Once: true,
		Where: func(string) string { return "process" }, Run: func(ctx context.Context, j *wardhost.Job) error {
			j.Up()
			return run(ctx, s.worker(fmt.Sprintf("state%d", j.Number), j.Directive), j)
		}})
}

// worker is an agent that a launcher starts for a directive.
func (s *site) worker(state, directive string) *exec.Cmd {
	cmd := exec.Command(s.binary, "--bare=remote.git", "--state="+state, "--config=config.toml", "--once", "--directive="+directive)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), boot.LeaseVar+"="+directive)
	return cmd
}

func (s *site) read(name string) string {
	s.Helper()
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}

const oneFile = `
turn
bash mkdir -p {directive}; echo a >{directive}/a; sleep 0.3; git add -A; git commit -qm by-model; git push -q
turn
say {directive} is done
`

// works runs a worker to its end, which is to be a good one.
func (s *site) works(cmd *exec.Cmd, j *wardhost.Job) error {
	log, err := await.Output(s, cmd)
	if err != nil {
		s.Errorf("%s: %v\n%s", j.Directive, err, log)
	}
	return err
}

// TestLeasedAgents: several agents on one repository work on each directive once, the urgent
// ones first, and what comes after another then (MANY-1).
func TestLeasedAgents(t *testing.T) {
	tier.Full(t, "agents side by side, for many seconds")
	s := newSite(t, build(t), turns(t, oneFile))
	const last = "### D-9: after them\n- after: D-1, D-7\n- priority: 9\n"
	var b strings.Builder
	for i := range 8 {
		fmt.Fprintf(&b, "### D-%d: x\n", i+1)
		if i == 4 {
			b.WriteString("- priority: 3\n")
		}
	}
	s.publish("# COMMS\n## Directives\n" + b.String() + last + "## Reports\n")
	h := newLauncher(s, 3, func(_ context.Context, cmd *exec.Cmd, j *wardhost.Job) error { return s.works(cmd, j) })
	if err := h.Serve(t.Context()); err != nil {
		t.Error(err)
	}
	var order []string
	for _, r := range s.reports() {
		order = append(order, r.Directive)
		if r.Status != comms.Done {
			t.Errorf("%s: %s %s", r.Directive, r.Status, r.Text)
		}
	}
	if all := strings.Join(order, " "); len(order) != 9 || !strings.Contains(strings.Join(order[:3], " "), "D-5") ||
		strings.Index(all, "D-9") < strings.Index(all, "D-1") || strings.Index(all, "D-9") < strings.Index(all, "D-7") {
		t.Errorf("reports: %v", order)
	}
	for i := range 9 {
		name := fmt.Sprintf("D-%d", i+1)
		if log := s.git("-C", "remote.git", "log", "main..agent/"+name); strings.Count(log, "Ward-Work: done") != 1 {
			t.Errorf("the work on %s ends more or less than once:\n%s", name, log)
		}
	}
	if left := s.git("-C", "remote.git", "for-each-ref", "refs/ward/lease"); left != "" {
		t.Error(left)
	}
	s.git("-C", "remote.git", "fsck", "--strict")
}

// TestLeasedKill: what an agent that is killed was at goes on in a new process, and is done
// once; others go on beside it. An agent works on what it was given, and on nothing else.
func TestLeasedKill(t *testing.T) {
	tier.Full(t, "an agent that is killed at work, and others beside it")
	s := newSite(t, build(t), turns(t, strings.Replace(oneFile, "sleep 0.3", "sleep 2", 1)))
	s.publish(document[:len(document)-len("## Reports\n")] + "### D-3: urgent\n- priority: 5\n## Reports\n")
	var mu sync.Mutex
	runs := map[string]int{}
	h := newLauncher(s, 2, func(_ context.Context, cmd *exec.Cmd, j *wardhost.Job) error {
		mu.Lock()
		runs[j.Directive]++
		n := runs[j.Directive]
		mu.Unlock()
		if j.Directive == "D-1" && n == 1 {
			if err := cmd.Start(); err != nil {
				return err
			}
			await.True(t, "it works", func() bool {
				_, err := os.Stat(s.path(fmt.Sprintf("state%d/agent/D-1/remote/D-1/a", j.Number)))
				return err == nil
			})
			cmd.Process.Kill()
			return cmd.Wait()
		}
		return s.works(cmd, j)
	})
	if err := h.Serve(t.Context()); err != nil {
		t.Error(err)
	}
	if runs["D-1"] != 2 || runs["D-2"] != 1 || runs["D-3"] != 1 {
		t.Error(runs)
	}
	done := map[string]int{}
	for _, r := range s.reports() {
		done[r.Directive]++
	}
	if len(done) != 3 || done["D-1"] != 1 || done["D-2"] != 1 || done["D-3"] != 1 {
		t.Error(done)
	}
	if log, err := await.Output(s, s.worker("state9", "D-77")); err == nil || !strings.Contains(log, "D-77 is not among the directives") {
		t.Errorf("D-77: %v %s", err, log)
	}
	if log, err := await.Output(s, s.worker("state9", "D-1")); err != nil {
		t.Errorf("a directive that is done: %v %s", err, log)
	}
}

// TestLingers: a worker whose directive waits for a word stays for [launch] linger, says so,
// and goes on when the word comes; with --once it does not stay.
func TestLingers(t *testing.T) {
	tier.First(t, "an agent that waits")
	s := newSite(t, build(t), turns(t, strings.Replace(oneFile, "sleep 0.3; ", "", 1)))
	const open = "# COMMS\n## Directives\n### D-1: x\n## Reports\n"
	doc, _ := comms.Parse([]byte(open))
	s.publish(open + fmt.Sprintf("### R-1 2026-11-21T12:00:00Z D-1 EXIT_BLOCKED\nDirective: %s\nword\n", doc.Directives[0].Hash()))
	if log, err := await.Output(t, s.worker("state", "D-1")); err != nil || len(s.reports()) != 1 {
		t.Errorf("with --once: %v %s", err, log)
	}
	cmd := s.worker("state", "D-1")
	cmd.Args = slices.DeleteFunc(cmd.Args, func(arg string) bool { return arg == "--once" })
	cmd.Env = append(cmd.Env, boot.LiveVar+"=1")
	told, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	waits, over := make(chan bool, 1), make(chan error, 1)
	go func() {
		for lines := bufio.NewScanner(told); lines.Scan(); {
			if strings.Contains(lines.Text(), `"kind":"waits"`) {
				waits <- true
			}
		}
		over <- cmd.Wait()
	}()
	await.Value(t, "it says that it waits", waits)
	s.publish(strings.Replace(open, "D-1: x", "D-1: z", 1))
	if err := await.Value(t, "it ends", over); err != nil {
		t.Error(err)
	}
	if list := s.reports(); len(list) != 1 || list[0].Status != comms.Done {
		t.Errorf("%+v", list)
	}
}
