package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/tier"
	protocol "git-ward/protocols/lease"
	"git-ward/protocols/loop"
	"git-ward/protocols/schedule"
	"git-ward/protocols/uow"
	"git-ward/sandbox/lastgood"
	"git-ward/sandbox/lease"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// repository is a bare one without hooks.
type repository struct {
	t    *testing.T
	repo *git.Repo
	fail uow.Reason // why units are blocked; "" because they were stopped
	mu   sync.Mutex // of what the PM does
	doc  string
}

// newRepository has directives, with what each of them says.
func newRepository(t *testing.T, directives ...string) *repository {
	t.Helper()
	r := &repository{t: t, repo: git.Open(filepath.Join(t.TempDir(), "x.git"))}
	r.git("init", "--quiet", "--bare", "--initial-branch=main", r.repo.Dir)
	var doc strings.Builder
	doc.WriteString("# COMMS\n\n## Directives\n\n")
	for i, says := range directives {
		fmt.Fprintf(&doc, "### D-%d: x\n\n- [ ] y (`true`)\n%s\n", i+1, says)
	}
	r.push(doc.String() + "## Reports\n")
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir", r.repo.Dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Errorf("git %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit puts a file on a ref.
func (r *repository) commit(ref, name, text string) {
	r.t.Helper()
	old, err := r.repo.Ref(context.Background(), ref)
	parent := old
	if old == git.Zero {
		parent = ""
	}
	var id string
	if err == nil {
		id, err = r.repo.CommitFile(parent, name, []byte(text), noon, "x")
	}
	if err == nil {
		err = r.repo.UpdateRefs(context.Background(), "x", git.RefUpdate{Ref: ref, Old: old, New: id})
	}
	if err != nil {
		r.t.Error(err)
	}
}

// push is the PM's push of COMMS.md.
func (r *repository) push(doc string) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doc = doc
	r.commit("refs/heads/main", "COMMS.md", doc)
}

// closes reports that a directive is done.
func (r *repository) closes(h *Host, directive string) {
	h.mu.Lock()
	d := h.refs.known.Directive(directive)
	h.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doc += fmt.Sprintf("\n### R-%d 2026-11-21T12:00:00Z %s DONE\nDirective: %s\nDropped: x\n", strings.Count(r.doc, "### R-")+1, directive, d.Hash)
	r.commit("refs/heads/main", "COMMS.md", r.doc)
}

// unit makes the first unit of a directive, as events bring it about.
func (r *repository) unit(directive, hash string, events ...uow.Event) {
	r.t.Helper()
	id, err := uow.ParseID(directive + ".1")
	if err != nil {
		r.t.Fatal(err)
	}
	var last *uow.Record
	for _, e := range events {
		in := uow.Input{Event: e, Actor: uow.Agent, Time: noon, Reason: map[uow.Event]uow.Reason{
			uow.Open: "DIRECTIVE_OPEN", uow.Activate: "WORK_STARTED", uow.Pause: "PILOT_HOLD", uow.Resume: "PILOT_RESUME", uow.Fail: uow.DirectiveGone, uow.Refine: "ANALYSIS_STARTED", uow.Archive: "ANALYSIS_DONE",
			uow.Block: cmp.Or(r.fail, uow.Stopped), uow.Iterate: "ITERATION_BEGUN", uow.Heartbeat: "PILOT_SIGNAL"}[e]}
		if reasons := uow.Reasons(e, uow.Agent); len(reasons) == 0 {
			in.Actor = uow.PM
		}
		if reasons := uow.Reasons(e, in.Actor); !slices.Contains(reasons, in.Reason) && len(reasons) > 0 {
			in.Reason = reasons[0]
		}
		next, found := uow.Advance(id, last, in, uow.World{Main: &uow.Main{DirectiveHash: hash, Total: uow.Totals(5), Policy: uow.DefaultPolicy()}})
		if len(found) > 0 {
			r.t.Fatal(e, found)
		}
		data, err := next.Marshal()
		if err != nil {
			r.t.Fatal(err)
		}
		r.commit(id.Ref(), uow.File, string(data))
		last = next
	}
}

// host is one with so many places, whose workers do what run says.
func (r *repository) host(slots int, run func(context.Context, *Job) error) *Host {
	settings := config.Default()
	return New(Spec{Book: &lease.Book{Repo: r.repo, Settings: settings, Launcher: "alpha"}, Settings: settings, Log: zerolog.New(io.Discard), Name: "alpha",
		Slots: slots, Once: true, Where: func(string) string { return "test" }, Run: run})
}

// over looks at what a launch that has ended leaves.
func (r *repository) over() {
	r.t.Helper()
	if refs := r.git("for-each-ref", protocol.Prefix); refs != "" {
		r.t.Errorf("leases are left: %s", refs)
	}
	r.git("fsck", "--strict")
}

// TestKnown: what is worked on, as refs have it: what nobody is to work on is not, and what
// is to be put away is, and what was in the middle when the time was over.
func TestKnown(t *testing.T) {
	tier.First(t, "real repositories with journals")
	r := newRepository(t, "", "- after: D-1\n- priority: 5\n", "- priority: 7\n", "", "", "", "", "", "")
	h := r.host(1, nil)
	look := func() {
		t.Helper()
		if _, err := h.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
	hash := func(name string) string { return h.refs.known.Directive(name).Hash }
	r.unit("D-1", hash("D-1"), uow.Open, uow.Activate, uow.Pause)
	r.unit("D-4", hash("D-4"), uow.Open, uow.Activate, uow.Iterate, uow.Heartbeat)
	r.unit("D-6", "0000000000000000000000000000000000000000000000000000000000000000", uow.Open, uow.Activate)
	r.unit("D-7", hash("D-7"), uow.Open, uow.Activate, uow.Iterate, uow.Pause, uow.Resume)
	r.unit("D-9", hash("D-9"), uow.Open, uow.Activate, uow.Block)
	r.unit("D-19", hash("D-1"), uow.Open, uow.Activate) // it is not listed
	r.unit("D-20", hash("D-1"), uow.Open, uow.Activate, uow.Fail, uow.Refine, uow.Archive)
	r.commit(uow.RefPrefix+"D-8.1", uow.File, "garbage")
	r.closes(h, "D-5")
	look()
	begins := func(spent bool) (names []string) {
		s := h.state(noon, nil)
		s.Spent = spent
		for n := range 20 {
			s.Slots = append(s.Slots, schedule.Slot{Number: n + 1})
		}
		for _, a := range schedule.Assign(s).Start {
			names = append(names, a.Directive)
		}
		return names
	}
	if got, want := begins(false), []string{"D-3", "D-4", "D-6", "D-7", "D-8", "D-9", "D-19"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := begins(true), []string{"D-4", "D-19"}; !slices.Equal(got, want) {
		t.Errorf("after the time is over: %v, want %v", got, want)
	}
	if moved, err := h.look(t.Context()); moved || err != nil {
		t.Error("nothing has moved:", moved, err)
	}
	r.commit(schedule.Work+"D-9", loop.StopPath, "wait")
	look()
	if got := begins(false); slices.Contains(got, "D-9") {
		t.Errorf("scratch/STOP on its branch: %v", got)
	}
	r.push(strings.Replace(r.doc, "### D-1: x", "### D-1: z", 1)) // which is paused
	look()
	if got := begins(false); slices.Contains(got, "D-1") {
		t.Errorf("an edit of a paused one: %v", got)
	}
}

// TestLeaseByHand: what somebody else has is his; what stands there by hand and cannot be
// read is nobody's; and a worker whose lease is deleted, or another's, ends, and another follows.
func TestLeaseByHand(t *testing.T) {
	tier.First(t, "leases are looked at once a second")
	r := newRepository(t, "", "", "", "")
	other := &lease.Book{Repo: r.repo, Settings: config.Default()}
	if _, err := other.Take(t.Context(), "beta.1", "process", "D-1"); err != nil {
		t.Fatal(err)
	}
	id, err := r.repo.WriteObject("blob", []byte("garbage\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.git("update-ref", protocol.Ref("D-2"), id)
	var mu sync.Mutex
	runs := map[string]int{}
	var h *Host
	h = r.host(4, func(ctx context.Context, j *Job) error {
		j.Up()
		mu.Lock()
		runs[j.Directive]++
		n := runs[j.Directive]
		mu.Unlock()
		switch {
		case j.Directive == "D-3" && n == 1:
			r.git("update-ref", "-d", protocol.Ref("D-3"))
			<-ctx.Done()
			return errors.New("it was ended")
		case j.Directive == "D-4" && n == 1: // a copy of the other's
			r.git("update-ref", protocol.Ref("D-4"), r.git("rev-parse", protocol.Ref("D-1")))
			<-ctx.Done()
			r.git("update-ref", "-d", protocol.Ref("D-4"))
			return nil
		}
		r.closes(h, j.Directive)
		return nil
	})
	if err := h.Serve(t.Context()); err == nil || err.Error() != "nobody works on D-2 before a person has looked at its lease" {
		t.Error(err)
	}
	if runs["D-1"] != 0 || runs["D-2"] != 0 || runs["D-3"] != 2 || runs["D-4"] != 2 {
		t.Error(runs)
	}
	if left := r.git("for-each-ref", "--format=%(refname)", protocol.Prefix); left != protocol.Ref("D-1")+"\n"+protocol.Ref("D-2") {
		t.Errorf("left: %s", left)
	}
}

// TestUnmade: a launch whose first worker cannot be made ends with what says so, for it is a setting;
// but not while another works, or is being made.
func TestUnmade(t *testing.T) {
	tier.First(t, "pauses, of seconds")
	poison := errors.New("there is no room")
	for _, up := range []bool{true, false} {
		r := newRepository(t, "", "")
		var h *Host
		tries, over := 0, make(chan struct{})
		h = r.host(2, func(ctx context.Context, j *Job) error {
			if j.Directive == "D-2" {
				if tries++; tries == schedule.Tries {
					close(over)
				}
				return poison
			}
			if up {
				j.Up()
			}
			select {
			case <-over:
			case <-ctx.Done():
				t.Errorf("up %v: the worker of D-1 was ended for that of D-2", up)
			}
			if !up {
				return poison
			}
			r.closes(h, j.Directive)
			return nil
		})
		h.spec.Once = up
		if err := h.Serve(t.Context()); !errors.Is(err, poison) || tries != schedule.Tries {
			t.Errorf("up %v: %v, after %d tries", up, err, tries)
		}
		r.over()
	}
}

// TestLeaseInTheWay: where a lease cannot be written, because another ref or a broken file is in
// its place, the other directives are worked on, and a launch that is to end does, and says why.
func TestLeaseInTheWay(t *testing.T) {
	tier.First(t, "pauses, of seconds")
	r := newRepository(t, "", "", "")
	r.git("update-ref", protocol.Ref("D-1")+"/x", "refs/heads/main")
	broken := filepath.Join(r.repo.Dir, protocol.Ref("D-2"))
	if err := os.WriteFile(broken, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var runs []string
	var h *Host
	h = r.host(2, func(_ context.Context, j *Job) error {
		j.Up()
		runs = append(runs, j.Directive)
		r.closes(h, j.Directive)
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(t.Context()) }()
	err := await.Value(t, "the launch's end", ended)
	for _, name := range []string{"D-1", "D-2"} {
		if err == nil || !strings.Contains(err.Error(), "the lease of "+name+" cannot be written") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !slices.Equal(runs, []string{"D-3"}) {
		t.Error(runs)
	}
}

// TestOnly: a launch for one directive works on that alone, and says what keeps it from it.
func TestOnly(t *testing.T) {
	r := newRepository(t, "", "- after: D-1\n", "", "")
	var h *Host
	only := func(name string) (ran []string, err error) {
		h = r.host(2, func(_ context.Context, j *Job) error {
			j.Up()
			ran = append(ran, j.Directive)
			r.closes(h, j.Directive)
			return nil
		})
		h.spec.Only = name
		err = h.Serve(t.Context())
		return ran, err
	}
	other := &lease.Book{Repo: r.repo, Settings: config.Default()}
	if _, err := other.Take(t.Context(), "beta.1", "process", "D-4"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, why string }{
		{"D-77", "D-77 is not among the directives"}, {"D-2", "D-2 comes after D-1"}, {"D-4", "somebody else has D-4"}, {"D-3", ""}, {"D-3", ""},
	} {
		_, err := only(c.name)
		if (err != nil) != (c.why != "") || err != nil && err.Error() != c.why {
			t.Errorf("%s: %v, want %q", c.name, err, c.why)
		}
	}
	if ran, err := only("D-1"); err != nil || !slices.Equal(ran, []string{"D-1"}) {
		t.Error(ran, err)
	}
}

// TestTwoLaunchers: two launchers on one repository take its directives, each once.
func TestTwoLaunchers(t *testing.T) {
	tier.First(t, "two launchers side by side")
	r := newRepository(t, make([]string, 12)...)
	var mu sync.Mutex
	runs := map[string]int{}
	var both sync.WaitGroup
	for _, name := range []string{"alpha", "beta"} {
		var h *Host
		h = r.host(3, func(_ context.Context, j *Job) error {
			j.Up()
			mu.Lock()
			runs[j.Directive]++
			mu.Unlock()
			r.closes(h, j.Directive)
			return nil
		})
		h.spec.Name, h.spec.Book.Launcher = name, name
		both.Go(func() {
			if err := h.Serve(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for i := range 12 {
		if name := fmt.Sprintf("D-%d", i+1); runs[name] != 1 {
			t.Errorf("%s ran %d times", name, runs[name])
		}
	}
	r.over()
}

// TestPoisoned: a directive whose workers fail each time stops no other, whatever place there
// is; and one whose workers do nothing ends with the launch.
func TestPoisoned(t *testing.T) {
	tier.First(t, "pauses, of seconds")
	r := newRepository(t, "- priority: 9\n", "- priority: 8\n", "", "", "", "")
	poison := errors.New("poison")
	var runs []string
	var h *Host
	h = r.host(1, func(_ context.Context, j *Job) error {
		j.Up()
		switch runs = append(runs, j.Directive); j.Directive {
		case "D-1":
			return poison
		case "D-2":
			r.git("pack-refs", "--all") // as maintenance does beside it: that moves no ref
			return nil
		}
		r.closes(h, j.Directive)
		return nil
	})
	if err := h.Serve(t.Context()); !errors.Is(err, poison) {
		t.Error(err)
	}
	n := map[string]int{}
	for _, name := range runs {
		n[name]++
	}
	if n["D-1"] != schedule.Tries || n["D-2"] != 1 || n["D-3"]+n["D-4"]+n["D-5"]+n["D-6"] != 4 {
		t.Error(runs)
	}
	r.over()
}

// TestPoisonedBefore: a directive whose workers ended badly under a launch before comes after all others,
// and rests for longer; how its workers end, the next launch knows.
func TestPoisonedBefore(t *testing.T) {
	tier.First(t, "pauses, of seconds")
	r := newRepository(t, "- priority: 9\n", "")
	book := lastgood.Book{Bare: r.repo.Dir, Control: config.Default().Control}
	for range schedule.Tries {
		if err := book.Ended(t.Context(), "D-1", false); err != nil {
			t.Fatal(err)
		}
	}
	var runs []string
	var rest []time.Duration
	var h *Host
	h = r.host(1, func(ctx context.Context, j *Job) error {
		j.Up()
		if runs = append(runs, j.Directive); len(runs) == 2 {
			j.Runs("poisoned")
			return errors.New("poison")
		}
		if j.Directive == "D-1" {
			ends, err := book.BadEnds(ctx)
			if err != nil || ends["D-1"] != schedule.Tries+1 {
				t.Errorf("%v %v", ends, err)
			}
			rest = append(rest, h.backoffs["D-1"].pause)
		}
		r.closes(h, j.Directive)
		return nil
	})
	h.spec.Ends = book
	if err := h.Serve(t.Context()); err != nil {
		t.Error(err)
	}
	if want := []string{"D-2", "D-1", "D-1"}; !slices.Equal(runs, want) || !slices.Equal(rest, []time.Duration{8 * firstPause}) {
		t.Error(runs, rest)
	}
	if ends, err := book.BadEnds(t.Context()); len(ends) != 0 || err != nil {
		t.Errorf("it ended well: %v %v", ends, err)
	}
	r.over()
}

// TestEndsWithItsLaunch: a worker that ends as its launch does has not ended badly.
func TestEndsWithItsLaunch(t *testing.T) {
	tier.First(t, "a repository")
	r := newRepository(t, "", "")
	book := lastgood.Book{Bare: r.repo.Dir, Control: config.Default().Control}
	h := r.host(1, nil)
	h.spec.Ends = book
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h.workerEnded(ctx, &Job{Directive: "D-1", Number: 1, err: ctx.Err(), over: make(chan struct{}), began: time.Now()})
	if ends, err := book.BadEnds(t.Context()); len(ends) != 0 || err != nil || len(h.backoffs) > 0 {
		t.Errorf("%v %v %v", ends, err, h.backoffs)
	}
	r.over()
}

// TestLinger: a worker that only waits gives its place to a directive that can be worked on,
// and not before; one that a person stopped begins again when the PM changes its text.
func TestLinger(t *testing.T) {
	tier.First(t, "a launch that waits")
	r := newRepository(t, "", "- after: D-1\n")
	var h *Host
	var mu sync.Mutex
	ends := map[string]error{}
	began := make(chan string, 10)
	h = r.host(1, func(ctx context.Context, j *Job) error {
		j.Up()
		began <- j.Directive
		if j.Directive == "D-1" {
			j.Waits(true)
		}
		<-ctx.Done()
		mu.Lock()
		defer mu.Unlock()
		ends[j.Directive] = context.Cause(ctx)
		return nil
	})
	h.spec.Once = false
	var rests atomic.Int32
	h.spec.Idle = func() { rests.Add(1) }
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx) }()
	if got := await.Value(t, "a worker", began); got != "D-1" {
		t.Fatal(got)
	}
	h.mu.Lock()
	hash := h.refs.known.Directive("D-1").Hash
	h.mu.Unlock()
	r.unit("D-1", hash, uow.Open, uow.Activate, uow.Pause)
	await.True(t, "it is idle", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.running["D-1"] != nil && !h.running["D-1"].idle.IsZero()
	})
	h.mu.Lock()
	j := h.running["D-1"]
	h.mu.Unlock()
	j.Waits(true) // what it said before it had something to wait for does not count
	r.push(strings.Replace(r.doc, "- after: D-1\n", "", 1))
	if got := await.Value(t, "the other's worker", began); got != "D-2" {
		t.Fatal(got)
	}
	mu.Lock()
	if !errors.Is(ends["D-1"], errIdle) {
		t.Error(ends)
	}
	mu.Unlock()
	if holder, err := h.Stop(t.Context(), "D-2"); err != nil || holder != "alpha.1" {
		t.Error(holder, err)
	}
	if _, err := h.Stop(t.Context(), "D-2"); !errors.Is(err, ErrNobody) {
		t.Error(err)
	}
	r.push(r.doc + "\n### R-1 2026-11-21T12:00:00Z D-1 INFO\nword\n") // a report begins nothing again
	await.True(t, "the report is seen", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.refs.marks[1] == r.repo.Mark("refs/heads/main") && len(h.running) == 0 && len(h.stops) == 1
	})
	if n := rests.Load(); n != 1 { // one worker followed the other, and nobody the second
		t.Errorf("idle %d times", n)
	}
	r.push(strings.Replace(r.doc, "### D-2: x", "### D-2: z", 1))
	if got := await.Value(t, "it goes on", began); got != "D-2" {
		t.Error(got)
	}
	cancel()
	if err := await.Value(t, "the end", served); err != nil {
		t.Error(err)
	}
	r.over()
}

// TestOffers: a machine that offers all there is gets what it may and no more, and a place of
// it is taken once; what waits for work gets it, or word that there is none, and one that is
// gone keeps nothing.
func TestOffers(t *testing.T) {
	tier.First(t, "a launch that waits")
	r := newRepository(t, "", "")
	var mu sync.Mutex
	var holders []string
	var h *Host
	work := func(_ context.Context, j *Job) error {
		j.Up()
		mu.Lock()
		defer mu.Unlock()
		holders = append(holders, j.Holder+" "+j.Where)
		r.closes(h, j.Directive)
		return nil
	}
	h = r.host(0, work)
	h.spec.Once = false
	type wait = func(context.Context) (bool, error)
	var waits []wait
	for k := range 5 {
		w, err := h.Offer(Offer{Name: fmt.Sprintf("farm.%d", k+1), Once: true, Run: work}, 3)
		if k < 3 && err != nil || k >= 3 && (!errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "the gate has 3 workers of this machine, as many as [launch] hand_agents")) {
			t.Fatal(k, err)
		}
		if err == nil {
			waits = append(waits, w)
		}
	}
	if _, err := h.Offer(Offer{Name: "farm.1"}, 3); !errors.Is(err, ErrAtWork) {
		t.Error(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if did, err := waits[2](gone); did || err != nil {
		t.Error(did, err)
	}
	if _, err := h.Offer(Offer{Name: "barn.1", Once: true, Run: work}, 3); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx) }()
	first, err := waits[0](t.Context())
	second, err2 := waits[1](t.Context())
	if !first || second || err != nil || err2 != nil { // the barn has had nothing yet
		t.Error(first, second, err, err2)
	}
	cancel()
	if err := await.Value(t, "the end", served); err != nil {
		t.Error(err)
	}
	slices.Sort(holders)
	if want := []string{"alpha.barn.1 ssh barn", "alpha.farm.1 ssh farm"}; !slices.Equal(holders, want) {
		t.Errorf("%v, want %v", holders, want)
	}
	r.over()
}
