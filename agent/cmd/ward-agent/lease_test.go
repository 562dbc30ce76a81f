package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
	"git-ward/sandbox/gateway"
	"git-ward/sandbox/lease"
)

// desk is a launcher's side of some workers: their leases, and the address of a gateway each.
type desk struct {
	book *lease.Book
	site *site
}

func newDesk(s *site) *desk {
	settings, err := config.Parse([]byte(s.read("config.toml")), "config.toml")
	if err != nil {
		s.Fatal(err)
	}
	return &desk{&lease.Book{Repo: git.Open(s.path("remote.git")), Settings: settings, Launcher: "alpha"}, s}
}

func (s *site) read(name string) string {
	s.Helper()
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		s.Fatal(err)
	}
	return string(data)
}

// worker is the environment of an agent that is the worker of a name.
func (d *desk) worker(t *testing.T, name string) (*lease.Worker, []string) {
	t.Helper()
	prices, err := gateway.NewPrices([]gateway.PriceSetting{{Model: "*", Input: "3", Output: "15"}})
	if err != nil {
		t.Fatal(err)
	}
	meter, err := gateway.OpenMeter(filepath.Join(t.TempDir(), "meter.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { meter.Close() })
	w := d.book.Worker("alpha."+name, "process")
	url := forward(t, gateway.Config{Meter: meter, Shared: gateway.NewShared(60), Prices: prices, Lease: w,
		Budget: func(string) gateway.Budget { return gateway.Budget{Tokens: gateway.Unlimited, Cost: gateway.Unlimited} }})
	return w, append(os.Environ(), "ANTHROPIC_BASE_URL="+url, boot.LeaseVar+"=1")
}

// once runs an agent of a worker to its end.
func (d *desk) once(env []string, state string, args ...string) (string, error) {
	cmd := exec.Command(d.site.binary, append([]string{"--bare=remote.git", "--state=" + state, "--config=config.toml"}, args...)...)
	cmd.Dir, cmd.Env = d.site.dir, env
	return await.Output(d.site, cmd)
}

const oneFile = `
turn
bash mkdir -p {directive}; echo a >{directive}/a; sleep 0.3; git add -A; git commit -qm by-model; git push -q
turn
say {directive} is done
`

// TestLeasedAgents: several agents on one repository work on each directive once, the urgent
// ones first, and what comes after another then, whoever asks when (MANY-1).
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
	d := newDesk(s)
	var all sync.WaitGroup
	for i := range 3 {
		w, env := d.worker(t, fmt.Sprint(i))
		all.Go(func() {
			for range 4 { // D-9 may be waiting when one of them has nothing more to do
				if log, err := d.once(env, fmt.Sprintf("state%d", i), "--once"); err != nil {
					t.Errorf("%v\n%s", err, log)
				}
			}
			if now, held := w.Current(t.Context()); held {
				t.Errorf("%v is not given back", now)
			}
		})
	}
	all.Wait()
	var order []string
	for _, r := range s.reports() {
		order = append(order, r.Directive)
		if r.Status != comms.Done {
			t.Errorf("%s: %s %s", r.Directive, r.Status, r.Text)
		}
	}
	if len(order) != 9 || order[len(order)-1] != "D-9" || !strings.Contains(strings.Join(order[:3], " "), "D-5") {
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

// TestLeasedKill: an agent that is killed goes on, in a new process, with what its worker
// has, and other workers leave that alone until then.
func TestLeasedKill(t *testing.T) {
	tier.Full(t, "an agent that is killed at work, and others beside it")
	s := newSite(t, build(t), turns(t, strings.Replace(oneFile, "sleep 0.3", "sleep 2", 1)))
	d := newDesk(s)
	w, env := d.worker(t, "1")
	cmd := exec.Command(s.binary, "--bare=remote.git", "--state=state", "--config=config.toml", "--once")
	cmd.Dir, cmd.Env = s.dir, env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var id string
	await.True(t, "it has a lease", func() bool {
		l, _ := w.Current(t.Context())
		id = l.ID
		return id != ""
	})
	cmd.Process.Kill()
	cmd.Wait()
	s.publish(document[:len(document)-len("## Reports\n")] + "### D-3: urgent\n- priority: 5\n## Reports\n")
	_, other := d.worker(t, "2")
	if log, err := d.once(other, "state2", "--directive", "D-1"); err == nil || !strings.Contains(log, "held: alpha.1 works on D-1") {
		t.Errorf("another worker on D-1: %v %s", err, log)
	}
	if log, err := d.once(other, "state2", "--directive", "D-77"); err == nil || !strings.Contains(log, "D-77 is not among the directives") {
		t.Errorf("D-77: %v %s", err, log)
	}
	if l, _ := w.Current(t.Context()); l.ID != id {
		t.Errorf("the lease has changed: %v, was %s", l, id)
	}
	if log, err := d.once(env, "state", "--once"); err != nil {
		t.Errorf("%v %s", err, log)
	}
	var order []string
	for _, r := range s.reports() {
		order = append(order, r.Directive)
	}
	if strings.Join(order, " ") != "D-1 D-3 D-2" {
		t.Error(order)
	}
	if log, err := d.once(other, "state2", "--directive", "D-1"); err != nil {
		t.Errorf("a directive that is done: %v %s", err, log)
	}
}
