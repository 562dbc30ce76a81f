package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/cycle"
	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/store"
	"git-ward/internal/benchtest"
	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// TestBenchLoop measures an iteration of the bounded loop in which nobody thinks
// and nothing is verified: journal, capsule, evidence, budget, learnings, and their
// pushes through the real hooks, with more and more iterations on the record.
func TestBenchLoop(t *testing.T) {
	benchtest.Only(t)
	var none, noneStart time.Duration
	for _, n := range []int{1, 10, 100, 1000} {
		b := newLoopBench(t, n)
		b.size(n)
		b.takeUp()
		whole, pushes, rest := benchtest.Median(b.whole), benchtest.Median(b.pushes), benchtest.Median(b.rest)
		if n == 1 {
			none, noneStart = rest, b.start
		}
		benchtest.Against(fmt.Sprintf("an iteration of the loop, %d before it", n), whole,
			fmt.Sprintf("its %d pushes at the remote", b.count), pushes)
		benchtest.Against(fmt.Sprintf("an iteration without its pushes, %d before it", n), rest, "one before it", none)
		benchtest.Against(fmt.Sprintf("the loop taken up in a new clone, %d iterations before", n), b.start, "one before", noneStart)
		benchtest.Against(fmt.Sprintf("the same iterations' overhead, %d before it", n), rest, "git add and git commit of the same files", b.plain(n))
		t.Run(fmt.Sprintf("children with %d before", n), func(t *testing.T) { // with another PATH
			counted := newLoopBench(t, n)
			counted.countChildren()
			counted.takeUp()
			benchtest.Row(fmt.Sprintf("git children of an iteration, %d before it", n), fmt.Sprint(counted.children), "", "")
		})
	}
}

// countChildren has the loop find a git that counts how often it is started: by the
// loop, not by git itself or at the remote.
func (b *loopBench) countChildren() {
	real, err := exec.LookPath("git")
	check(b.t, err)
	dir := b.t.TempDir()
	b.counter = filepath.Join(dir, "count")
	gittest.Program(b.t, filepath.Join(dir, "git"), fmt.Sprintf("#!/bin/sh\nprintf x >>%s\nexec %s \"$@\"\n", b.counter, real))
	b.door.search = os.Getenv("PATH")
	b.t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// started is how often git was started so far.
func (b *loopBench) started() int {
	if b.counter == "" {
		return 0
	}
	data, err := os.ReadFile(b.counter)
	check(b.t, err)
	return len(data)
}

// size measures what the record takes on disk: as git gc leaves it, and each object by
// itself, as pushes bring them.
func (b *loopBench) size(n int) {
	const ref = record.Prefix + "D-1.1"
	usage := func(dir string) int {
		out := b.git(dir, "", "rev-list", "--objects", "--disk-usage", ref)
		var size int
		fmt.Sscan(out, &size)
		return size
	}
	loose := filepath.Join(b.t.TempDir(), "loose.git")
	b.git("", "", "init", "-q", "--bare", loose)
	b.git(loose, "", "-c", "fetch.unpackLimit=10000000", "fetch", "-q", b.bare, ref+":"+ref)
	packed := filepath.Join(b.t.TempDir(), "packed.git")
	b.git("", "", "init", "-q", "--bare", packed)
	b.git(packed, "", "fetch", "-q", b.bare, ref+":"+ref)
	b.git(packed, "", "gc", "-q")
	var inflated int
	for line := range strings.Lines(b.git(packed, "", "ls-tree", "-r", "--format=%(objectsize)", ref)) {
		var size int
		fmt.Sscan(line, &size)
		inflated += size
	}
	kB := func(size int) string { return fmt.Sprintf("%.1f kB", float64(size)/1000/float64(n)) }
	benchtest.Row(fmt.Sprintf("bytes of the record for each of %d iterations, after git gc", n), kB(usage(packed)),
		fmt.Sprintf("its files as they are %s, loose objects %s", kB(inflated), kB(usage(loose))), fmt.Sprintf("%.2f", float64(usage(packed))/float64(inflated)))
	benchtest.Row(fmt.Sprintf("a record of %d iterations, after git gc", n), fmt.Sprintf("%.2f MB", float64(usage(packed))/1e6), fmt.Sprintf("loose objects %.2f MB", float64(usage(loose))/1e6), "")
}

// plain is how long git itself takes for the files of an iteration, in a tree that has
// all of those before it: the same three commits of the record, and one of the work.
func (b *loopBench) plain(n int) time.Duration {
	dir := filepath.Join(b.t.TempDir(), "plain")
	b.git("", "", "init", "-q", dir)
	b.git(dir, "", "fetch", "-q", b.bare, record.Prefix+"D-1.1")
	b.git(dir, "", "checkout", "-q", "FETCH_HEAD")
	last, err := os.ReadDir(filepath.Join(dir, loop.IterationDir("D-1", n-1)))
	check(b.t, err)
	var took []time.Duration
	for i := range 5 {
		start := time.Now()
		for part := range 4 {
			to := filepath.Join(dir, loop.IterationDir("D-1", n+i))
			check(b.t, os.MkdirAll(to, 0o755))
			for k, e := range last {
				if k%4 == part {
					data, err := os.ReadFile(filepath.Join(dir, loop.IterationDir("D-1", n-1), e.Name()))
					check(b.t, err)
					check(b.t, os.WriteFile(filepath.Join(to, e.Name()), append(data, byte(i)), 0o644))
				}
			}
			b.git(dir, "", "add", "--all")
			b.git(dir, "", "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "-m", "x")
		}
		took = append(took, time.Since(start))
	}
	return benchtest.Median(took)
}

func (b *loopBench) git(dir, input string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// loopBench is a unit of work with iterations behind it, and the worker of the ones
// that are measured.
type loopBench struct {
	*unitRun // whose team and host it is

	t    *testing.T
	bare string
	door *countingDoor

	start               time.Duration   // from no clone to the first iteration's work
	whole, pushes, rest []time.Duration // of each iteration
	count               int             // of an iteration's pushes

	counter  string // grows by a byte with each git that is started; "" where nobody counts
	children int    // of the last iteration
	hosted   int    // started before it, or by the host since

	since time.Time     // the iteration before handed its work over
	host  time.Duration // what the host took since
}

// The directive allows more than is measured; its policy asks for no sign of life.
const (
	benchDirective = "# COMMS\n\n## Directives\n\n### D-1: greet\n\nSay hello.\n\n- [ ] it greets (`test -f hello`)\n- work: hello\n" +
		"- max_iterations: 2000\n- max_total_tool_calls: 1000000\n- max_total_seconds: 1000000\n\n## Reports\n"
	benchPolicy = "pilot_pulse = 0\nmax_interactions = 1000000\n"
)

func newLoopBench(t *testing.T, n int) *loopBench {
	p := gittest.New(t)
	p.Commit(uow.PolicyPath, benchPolicy)
	p.Commit(comms.Path, benchDirective)
	if out, err := p.Push("main"); err != nil {
		t.Fatal(out)
	}
	bin, err := gittest.Bin()
	check(t, err)
	door := openDoor(t, p.Bare)
	s, err := store.Open(t.Context(), store.Options{Bare: p.Bare, State: t.TempDir(), Door: door.path, Executable: filepath.Join(bin, "ward-agent")})
	check(t, err)
	main, err := s.Main(t.Context())
	check(t, err)
	_, doc, err := main.Comms(t.Context())
	check(t, err)
	d := &deps{store: s, config: config.Default(), log: zerolog.Nop()}
	b := &loopBench{t: t, bare: p.Bare, door: door, unitRun: newUnitRun(d, doc.Directives[0], nil, zerolog.Nop())}
	b.unit.journal = s.NewJournal(uow.ID{Directive: "D-1", K: 1})
	b.unit.declare()
	b.past(main.Commit, n)
	return b
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// timed is how many iterations are, after one that warms up.
const timed = 15

var errEnough = errors.New("enough iterations")

// takeUp takes the unit up in a new clone, and stops it after some iterations.
func (b *loopBench) takeUp() {
	b.since = time.Now()
	journals, err := b.unit.store.Journals(b.t.Context(), "D-1")
	check(b.t, err)
	b.unit.journal = journals[0]
	b.work, err = b.unit.store.Work(b.t.Context(), b.unit.directive)
	check(b.t, err)
	check(b.t, b.work.Begin(b.t.Context(), b.unit.journal, nil))
	if _, err := b.newLoop(b).Run(b.t.Context()); !errors.Is(err, errEnough) {
		b.t.Fatal(err)
	}
}

func (b *loopBench) Team(context.Context, *cycle.Subagents) (cycle.Team, error) { return b, nil }

// Solve changes one small file. Where it is called, one iteration has ended and the
// next one has come to its work.
func (b *loopBench) Solve(_ context.Context, brief cycle.Brief, refusal string) (interaction.Done, error) {
	if refusal != "" {
		return interaction.Done{}, errors.New(refusal)
	}
	took := time.Since(b.since) - b.host
	b.children = b.started() - b.hosted
	b.hosted = b.started()
	count, pushing := b.door.take()
	if b.start == 0 {
		b.start = took
	} else {
		b.whole, b.pushes, b.rest, b.count = append(b.whole, took), append(b.pushes, pushing), append(b.rest, took-pushing), count
	}
	if len(b.whole) == timed+1 {
		b.whole, b.pushes, b.rest = b.whole[1:], b.pushes[1:], b.rest[1:]
		return interaction.Done{}, errEnough
	}
	err := os.WriteFile(filepath.Join(b.work.Dir(), "hello"), fmt.Appendf(nil, "hello %d\n", brief.Iteration), 0o644)
	b.since, b.host = time.Now(), 0
	return interaction.Done{Words: "a change", Tally: model.Tally{Calls: 1}}, err
}

func (b *loopBench) Review(context.Context, cycle.Brief, cycle.Result) (cycle.Review, int, error) {
	return cycle.Review{Tried: []string{"a change"}}, 1, nil
}

// Verdict is the host's, noted before anybody asks; noting it is the host's time.
func (b *loopBench) Verdict(ctx context.Context, commit, claim string) (*loop.Verdict, error) {
	start, before := time.Now(), b.started()
	line, err := b.judged(commit, b.unit.journal.Claimed().Claim.Record, claim).Line()
	check(b.t, err)
	check(b.t, git.Open(b.bare).AppendNote(ctx, loop.VerdictsRef, commit, line))
	b.host += time.Since(start)
	b.hosted += b.started() - before
	return b.unit.store.AwaitVerdict(ctx, commit, claim, time.Minute, func(*loop.Verdict) bool { return true })
}

// judged is a verdict by which the loop goes on.
func (b *loopBench) judged(commit, rec, claim string) loop.Verdict {
	c := b.unit.declaration.Commands[0]
	run := loop.Trial{Criteria: []loop.Outcome{{Criterion: c.Text, Command: c.Command, ExitCode: 1, OutputSHA256: loop.Digest(nil)}}}
	v := loop.Judge(b.unit.declaration, []loop.Trial{run, run})
	v.Commit, v.Record, v.Claim, v.Image, v.Fence, v.Time = commit, rec, claim, "localhost/git-ward:"+loop.Digest(nil)[:12], "podman", "2026-11-21T09:00:00Z"
	return v
}

// countingDoor takes pushes as the launcher's door does, which is another room, and
// counts them with the time from their arrival to their end.
type countingDoor struct {
	path   string
	search string // PATH at the remote, "" for this process's
	git    string // there

	mu    sync.Mutex
	count int
	spent time.Duration
}

func openDoor(t *testing.T, bare string) *countingDoor {
	dir, err := os.MkdirTemp("", "door-")
	check(t, err)
	d := &countingDoor{path: filepath.Join(dir, "sock")}
	d.git, err = exec.LookPath("git")
	check(t, err)
	listener, err := net.Listen("unix", d.path)
	check(t, err)
	t.Cleanup(func() {
		listener.Close()
		os.RemoveAll(dir)
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			d.push(conn, bare)
		}
	}()
	return d
}

func (d *countingDoor) push(conn net.Conn, bare string) {
	start := time.Now()
	d.mu.Lock() // until the client may have seen the end
	defer d.mu.Unlock()
	defer conn.Close()
	token, err := gittest.AgentToken(bare)
	if err != nil {
		return // the client says that the remote hung up
	}
	cmd := exec.Command(d.git, "receive-pack", bare)
	cmd.Stdin, cmd.Stdout = conn, conn
	cmd.Env = append(token, "PATH="+cmp.Or(d.search, os.Getenv("PATH")), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	cmd.Run()
	d.count++
	d.spent += time.Since(start)
}

// take is what came through since it was asked last.
func (d *countingDoor) take() (int, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	count, spent := d.count, d.spent
	d.count, d.spent = 0, 0
	return count, spent
}
