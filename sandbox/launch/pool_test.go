package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
	"git-ward/protocols/comms"
	protocol "git-ward/protocols/lease"
	"git-ward/protocols/schedule"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/gateway"
	"git-ward/sandbox/host"
	"git-ward/sandbox/lease"
	"git-ward/sandbox/verifier/local"
)

// company is a launch whose workers work on an engine of the test's.
type company struct {
	launch *launch
	t      *testing.T
	log    bytes.Buffer

	mu   sync.Mutex
	runs []string // directives, as they began
	most int      // at once
	now  int
	doc  string // COMMS.md
}

// newCompany has a repository whose directives these are, with what each of them says.
func newCompany(t *testing.T, agents int, directives ...string) *company {
	t.Helper()
	c := &company{t: t}
	dir, err := os.MkdirTemp("", "ward-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bare := filepath.Join(dir, "x.git")
	gittest.Git(t, dir, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	settings := config.Default()
	settings.Launch.Agents = agents
	gate, err := lockGate(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gate.Close() })
	lock, err := acquire(bare)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	scratch, err := makeScratch(lock, dir)
	if err != nil {
		t.Fatal(err)
	}
	meter, err := gateway.OpenMeter(filepath.Join(bare, runstate.MeterPath))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { meter.Close() })
	c.launch = &launch{
		spec: Spec{Bare: bare, Settings: settings, State: filepath.Join(dir, "state"), Messages: io.Discard, Getenv: func(string) string { return "" },
			Payload: Payload{Model: "script", Once: true}},
		log: zerolog.New(&c.log), file: io.Discard, lock: lock, scratch: scratch, meter: meter, shared: gateway.NewShared(settings.Budget.Calls, settings.Budget.FreeCalls), name: "host",
		book: &lease.Book{Repo: git.Open(bare), Settings: settings, Launcher: "host"},
	}
	c.launch.engine = engineOf(c.launch)
	var doc strings.Builder
	doc.WriteString("# COMMS\n\n## Directives\n\n")
	for i, says := range directives {
		fmt.Fprintf(&doc, "### D-%d: x\n\n- [ ] y (`true`)\n%s\n", i+1, says)
	}
	c.doc = doc.String() + "## Reports\n"
	c.push()
	return c
}

// push is the PM's push of COMMS.md.
func (c *company) push() {
	c.t.Helper()
	repo := git.Open(c.launch.spec.Bare)
	old, err := repo.Ref(context.Background(), "refs/heads/main")
	parent := old
	if old == git.Zero {
		parent = ""
	}
	var id string
	if err == nil {
		id, err = repo.CommitFile(parent, "COMMS.md", []byte(c.doc), time.Now(), "x")
	}
	if err == nil {
		err = repo.UpdateRefs(context.Background(), "x", git.RefUpdate{Ref: "refs/heads/main", Old: old, New: id})
	}
	if err != nil {
		c.t.Error(err)
	}
}

// closes closes a directive.
func (c *company) closes(directive string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	doc, findings := comms.Parse([]byte(c.doc))
	if len(findings) > 0 {
		c.t.Error(findings)
	}
	c.doc += fmt.Sprintf("\n### R-%d 2026-11-21T12:00:00Z %s DONE\nDirective: %s\nDropped: x\n", len(doc.Reports)+1, directive, doc.Directive(directive).Hash())
	c.push()
}

// stage is a company's engine, on which every piece of work is what the test says.
type stage struct {
	engine // nil: nothing else is asked for
	*company
	play func(context.Context, *worker) error
}

func (s stage) steady() bool                      { return false }
func (s stage) where(directive string) string     { return "kube x/" + directive }
func (s stage) opens(w *worker) ([]opener, error) { return there{}.opens(w) }
func (s stage) prepare()                          {}
func (s stage) runner() local.Runner              { return &local.Processes{} } // nobody claims anything

func (s stage) prepared(context.Context, *host.Job) *worker { return nil }

func (s stage) run(ctx context.Context, w *worker) error {
	s.mu.Lock()
	s.runs, s.now = append(s.runs, w.only), s.now+1
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	w.up()
	return s.play(ctx, w)
}

// works has the company's workers work until the launch ends by itself.
func (c *company) works(play func(context.Context, *worker) error) error {
	c.t.Helper()
	c.launch.engine = stage{company: c, play: play}
	c.launch.openHost()
	err := whileServing(c.t.Context(), []opener{c.launch.openControl}, c.launch.runWorkers)
	if refs := gittest.Git(c.t, c.launch.spec.Bare, "for-each-ref", protocol.Prefix); refs != "" {
		c.t.Errorf("leases are left: %s", refs)
	}
	if left := runstate.Workers(c.launch.spec.Bare); len(left) > 0 {
		c.t.Errorf("workers are left: %+v", left)
	}
	gittest.Git(c.t, c.launch.spec.Bare, "fsck", "--strict")
	return err
}

// TestPool: every directive is worked on once, so many at once as may be, what comes after
// others after them; and then the launch ends.
func TestPool(t *testing.T) {
	tier.First(t, "takes seconds: pauses, and workers side by side")
	t.Parallel()
	c := newCompany(t, 3, "", "", "- after: D-1, D-2\n", "", "- priority: 5\n", "")
	var seen []runstate.Worker
	begun, three := 0, make(chan bool) // the first three are side by side
	err := c.works(func(_ context.Context, w *worker) error {
		if w.only == "D-3" && (times(c, "D-1") == 0 || times(c, "D-2") == 0) {
			t.Error("D-3 is not after D-1 and D-2")
		}
		c.mu.Lock()
		if begun++; begun == 3 {
			close(three)
		}
		c.mu.Unlock()
		await.Value(t, "others beside it", three)
		c.mu.Lock()
		if now := runstate.Workers(c.launch.spec.Bare); len(now) > len(seen) {
			seen = now
		}
		c.mu.Unlock()
		c.closes(w.only)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if !slices.Contains(c.runs[:3], "D-5") {
		t.Errorf("D-5 has priority: %v", c.runs)
	}
	runs := slices.Sorted(slices.Values(c.runs))
	if want := []string{"D-1", "D-2", "D-3", "D-4", "D-5", "D-6"}; !slices.Equal(runs, want) || c.most != 3 {
		t.Errorf("%v, %d at once", c.runs, c.most)
	}
	at := map[string]bool{}
	for _, w := range seen {
		at[w.Directive] = w.Doing == runstate.Works && w.Lease != "" && w.Gateway != ""
	}
	if len(seen) != 3 || len(at) != 3 || slices.Contains([]bool{at[seen[0].Directive], at[seen[1].Directive], at[seen[2].Directive]}, false) {
		t.Errorf("%+v", seen)
	}
}

// TestPoolFaults: one worker's bad ends, its lost lease and its stop touch no other, and what
// has ended badly is tried again.
func TestPoolFaults(t *testing.T) {
	tier.First(t, "takes seconds: pauses, and workers side by side")
	t.Parallel()
	c := newCompany(t, 4, "", "", "", "", "- after: D-1, D-2, D-3, D-4\n")
	dies, steady := 0, make(chan struct{})
	enough := sync.OnceFunc(func() { close(steady) })
	err := c.works(func(ctx context.Context, w *worker) error {
		switch w.only {
		case "D-1": // two bad ends
			if dies++; dies < 3 {
				return fence.Exit(1)
			}
		case "D-2": // revoked
			if times(c, "D-2") == 1 {
				gittest.Git(t, c.launch.spec.Bare, "update-ref", "-d", protocol.Ref("D-2"))
				<-ctx.Done()
				return fence.Exit(143)
			}
		case "D-3": // stopped, until the PM changes its text: reports on others do not
			if times(c, "D-3") == 1 {
				go func() {
					if holder, err := StopDirective(context.Background(), c.launch.spec.Bare, "D-3"); err != nil || !strings.HasPrefix(holder, "host.") {
						t.Error(holder, err)
					}
					c.closes("D-5") // a report, which begins nothing again
					c.mu.Lock()
					defer c.mu.Unlock()
					c.doc = strings.Replace(c.doc, "### D-3: x", "### D-3: z", 1)
					c.push()
				}()
				<-ctx.Done()
				return fence.Exit(143)
			}
		case "D-4": // is not touched
			select {
			case <-ctx.Done():
				t.Error("it was ended")
			case <-steady:
			}
		}
		c.closes(w.only)
		if w.only != "D-4" && times(c, "D-1") == 3 && times(c, "D-2") == 2 {
			enough()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for directive, want := range map[string]int{"D-1": 3, "D-2": 2, "D-3": 2, "D-4": 1} {
		if n := times(c, directive); n != want {
			t.Errorf("%s ran %d times, want %d: %v", directive, n, want, c.runs)
		}
	}
}

func times(c *company, directive string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, run := range c.runs {
		if run == directive {
			n++
		}
	}
	return n
}

// TestPoolGivesUp: a launch that is to end by itself does, where a directive cannot be worked
// on, and says why.
func TestPoolGivesUp(t *testing.T) {
	tier.First(t, "takes seconds: pauses, and workers side by side")
	t.Parallel()
	c := newCompany(t, 2, "", "")
	trouble := errors.New("there is no room")
	if err := c.works(func(_ context.Context, w *worker) error {
		if w.only == "D-1" {
			return trouble
		}
		c.closes(w.only)
		return nil
	}); !errors.Is(err, trouble) {
		t.Error(err)
	}
	if n := times(c, "D-1"); n != schedule.Tries {
		t.Errorf("it was tried %d times", n)
	}
}

// TestStopNobody: what nobody works on cannot be stopped.
func TestStopNobody(t *testing.T) {
	c := newCompany(t, 1, "")
	c.launch.openHost()
	err := whileServing(t.Context(), []opener{c.launch.openControl}, func(ctx context.Context) error {
		_, err := StopDirective(ctx, c.launch.spec.Bare, "D-1")
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "nobody of this launch works on it") {
		t.Error(err)
	}
}
