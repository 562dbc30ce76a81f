package sandbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// manyAgents are the sizes of the measurement, in agents and as many directives.
var manyAgents = []int{1, 10, 25, 50, 100}

// manyVerdicts is [verify] agents: how many verdicts are made at once.
const manyVerdicts = 4

// crowd is what came of so many agents on one repository.
type crowd struct {
	took, cpu time.Duration   // of the launcher with all that it started and waited for
	pushes    []time.Duration // of each through a door, sorted
	gate      time.Duration   // processor time of git with its hooks, all pushes
	rss       int64           // bytes: the launcher's largest, or that of its largest child
}

// workTogether has n agents take n directives, each with a claim and its verdict, to their
// ends, by one launch, and proves that each was done once and nothing lost.
func workTogether(t *testing.T, p *gittest.Pair, n int, how ...string) (c crowd) {
	t.Helper()
	toWorkOn(t, p, n)
	cmd := launchMany(p, n, how...)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	state := cmd.ProcessState
	c.took, c.cpu = time.Since(began), state.UserTime()+state.SystemTime()
	c.rss = state.SysUsage().(*syscall.Rusage).Maxrss << 10 // in KiB there
	eachOnce(t, p, n)
	c.doors(t, p)
	p.Fsck()
	return c
}

// launchMany is a launch of n agents that ends when nothing is left to do.
func launchMany(p *gittest.Pair, n int, how ...string) *exec.Cmd {
	cmd := exec.Command("env", append([]string{"git-ward", "launch", "--bare", p.Bare, "--once", "--model", "script",
		"--agents", fmt.Sprint(n), "--state", filepath.Join(filepath.Dir(p.Bare), "state")}, how...)...)
	cmd.Dir, cmd.Env = p.Work, p.Env
	return cmd
}

// toWorkOn pushes n directives, each of which wants a file of its own.
func toWorkOn(t *testing.T, p *gittest.Pair, n int) {
	t.Helper()
	var comms, lines strings.Builder
	for i := range n {
		fmt.Fprintf(&comms, "### D-%d: a file of its own\n\n- [ ] it is there (`test -s f%d`)\n- work: f%[1]d\n\n", i+1, i+1)
		fmt.Fprintf(&lines, `{"directive":"D-%d","iteration":0,"text":"It is written.","calls":[{"name":"bash","args":{"command":"echo done > f%d"}}]}`+"\n", i+1, i+1)
		fmt.Fprintf(&lines, `{"directive":"D-%d","text":"Nothing else was touched."}`+"\n", i+1)
	}
	p.Write("script.jsonl", lines.String())
	p.Write("COMMS.md", "# COMMS\n\n## Directives\n\n"+comms.String()+"## Reports\n")
	p.Git("add", ".")
	p.Git("commit", "--quiet", "--message", "directives")
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	settings := filepath.Join(p.Bare, config.Path)
	text, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`(?m)^(\[verify\]\n(?:#.*\n)*agents = )0$`).ReplaceAll(text, fmt.Appendf(nil, "${1}%d", manyVerdicts))
	if err := os.WriteFile(settings, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// eachOnce proves that each of n directives has one unit, which came to one end.
func eachOnce(t *testing.T, p *gittest.Pair, n int) {
	t.Helper()
	p.Git("fetch", "--quiet")
	report := p.Git("show", "origin/main:COMMS.md")
	units := strings.Fields(p.Run(p.Bare, "git", "for-each-ref", "--format=%(refname:lstrip=3)", "refs/ward/uow"))
	if len(units) != n {
		t.Errorf("%d units of %d directives: %v", len(units), n, units)
	}
	for i := range n {
		name := fmt.Sprintf("D-%d", i+1)
		if !slices.Contains(units, name+".1") {
			t.Errorf("%s has no unit", name)
		}
		if k := strings.Count(report, " "+name+" EXIT_CONVERGED\n"); k != 1 {
			t.Errorf("%s has %d reports that it converged", name, k)
		}
	}
	if k := strings.Count(report, " EXIT_"); k != n {
		t.Errorf("%d reports of an end for %d directives", k, n)
	}
	if left := p.Run(p.Bare, "git", "for-each-ref", "refs/ward/lease"); left != "" {
		t.Errorf("leases are left:\n%s", left)
	}
}

// doors reads what each push took, as the doors wrote it into the log.
func (c *crowd) doors(t *testing.T, p *gittest.Pair) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.Bare, "ward/*.log*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range logs {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var line struct {
				Message string  `json:"message"`
				Took    float64 `json:"took_ms"`
				CPU     float64 `json:"cpu_ms"`
			}
			if json.Unmarshal(lines.Bytes(), &line) != nil || line.Message != "push" {
				continue
			}
			c.pushes = append(c.pushes, time.Duration(line.Took*float64(time.Millisecond)))
			c.gate += time.Duration(line.CPU * float64(time.Millisecond))
		}
	}
	slices.Sort(c.pushes)
	if len(c.pushes) == 0 {
		t.Error("no door wrote down a push")
	}
}

// TestManyAgents: eight agents take eight directives to their ends at once, each once.
func TestManyAgents(t *testing.T) {
	tier.Full(t, "fifty agents at once")
	workTogether(t, gittest.New(t), 8, "--unfenced")
}

// plainPushes is what git alone takes for as many pushes of one commit as c had, by as many
// clients at once, each to a branch of its own of one repository without hooks.
func plainPushes(t *testing.T, clients, pushes int) (took, p95 time.Duration) {
	t.Helper()
	p := gittest.New(t)
	bare := filepath.Join(t.TempDir(), "plain.git")
	p.Run(p.Work, "git", "init", "--quiet", "--bare", bare)
	each := max(1, pushes/clients)
	var all []time.Duration
	var mu sync.Mutex
	var group sync.WaitGroup
	clones := make([]string, clients)
	for i := range clones {
		clones[i] = filepath.Join(t.TempDir(), "clone")
		p.Run(p.Work, "git", "clone", "--quiet", p.Work, clones[i])
	}
	began := time.Now()
	for i, clone := range clones {
		group.Go(func() {
			for k := range each {
				run := func(args ...string) error {
					cmd := exec.Command("git", args...)
					cmd.Dir, cmd.Env = clone, p.Env
					return cmd.Run()
				}
				err := run("commit", "--quiet", "--allow-empty", "--message", fmt.Sprint(k))
				start := time.Now()
				if err == nil {
					err = run("push", "--quiet", bare, fmt.Sprintf("HEAD:refs/heads/w%d", i))
				}
				mu.Lock()
				if all = append(all, time.Since(start)); err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(all)
	return time.Since(began), all[len(all)*95/100]
}

// TestBenchMany measures so many agents with the script model on one repository, as
// processes of this machine and eight of them in containers, against git alone.
func TestBenchMany(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	for _, n := range manyAgents {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := workTogether(t, gittest.New(t), n, "--unfenced")
			if !t.Failed() {
				c.rows(t, n, "agents")
			}
		})
	}
	t.Run("in containers", func(t *testing.T) {
		const n = 8
		p := fenced(t)
		c := workTogether(t, p, n)
		if !t.Failed() {
			c.rows(t, n, "agents in containers")
		}
	})
}

// rows prints the lines of the table of n agents.
func (c *crowd) rows(t *testing.T, n int, who string) {
	t.Helper()
	plain, p95 := plainPushes(t, n, len(c.pushes))
	rate := func(d time.Duration) string {
		return fmt.Sprintf("%.1f a second", float64(len(c.pushes))/d.Seconds())
	}
	at := func(percent int) time.Duration { return c.pushes[len(c.pushes)*percent/100] }
	row := func(what, measured, baseline, ratio string) {
		benchtest.Row(fmt.Sprintf("%d %s, a directive each: %s", n, who, what), measured, baseline, ratio)
	}
	row("launch to its end", fmt.Sprintf("%.1f s", c.took.Seconds()), "", "")
	row(fmt.Sprintf("%d pushes", len(c.pushes)), rate(c.took), "plain git, no hooks "+rate(plain), benchtest.Ratio(c.took, plain))
	row("a push through the door, p50 and p95", benchtest.MS(at(50))+", "+benchtest.MS(at(95)), "plain git p95 "+benchtest.MS(p95), benchtest.Ratio(at(95), p95))
	row("processor time of pushes at the gate, an agent", benchtest.MS(c.gate/time.Duration(n)), "all that ran "+benchtest.MS(c.cpu/time.Duration(n)), benchtest.Ratio(c.gate, c.cpu))
	row("memory of the largest process", fmt.Sprintf("%d MiB", c.rss>>20), "", "")
}
