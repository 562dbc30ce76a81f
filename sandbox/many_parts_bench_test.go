package sandbox

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/internal/token"
	"git-ward/protocols/comms"
	"git-ward/protocols/lease"
	"git-ward/protocols/schedule"
	"git-ward/protocols/state"
)

// crowded is a guarded repository with n directives in control, each with the refs that one
// at work has: a unit, a record, what is folded of it, a branch, a live lease, and a
// report. Only the leases are real; the others stand for their number.
func crowded(t *testing.T, n int) (p *gittest.Pair, names []string) {
	t.Helper()
	p = gittest.New(t)
	var open, refs strings.Builder
	at := time.Now()
	for i := range n {
		fmt.Fprintf(&open, "### D-%d: a file of its own\n\n- [ ] it is there (`test -s f%[1]d`)\n- work: f%[1]d\n\n", i+1)
	}
	text := []byte("# COMMS\n\n## Directives\n\n" + open.String() + "## Reports\n")
	p.Commit("COMMS.md", string(text))
	if out, err := p.Push("main"); err != nil {
		t.Fatal(err, out)
	}
	tip := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	for i := range n {
		d := fmt.Sprintf("D-%d", i+1)
		var id [lease.IDBytes]byte
		binary.BigEndian.PutUint64(id[:], uint64(i))
		l := lease.New(d, id, fmt.Sprintf("bench.%d", i+1), "process", at, lease.MaxTerm)
		data, err := l.Format()
		if err != nil {
			t.Fatal(err)
		}
		blob, err := p.Try(p.Bare, nil, string(data), "git", "hash-object", "-w", "--stdin")
		if err != nil {
			t.Fatal(blob)
		}
		names = append(names, l.Name())
		fmt.Fprintf(&refs, "update %s %s\n", lease.Ref(d), blob[:40])
		for _, ref := range []string{"refs/ward/uow/%s.1", "refs/ward/record/%s.1", "refs/ward/folded/%s.1", "refs/heads/agent/%s"} {
			fmt.Fprintf(&refs, "update "+ref+" %s\n", d, tip)
		}
	}
	if out, err := p.Try(p.Bare, nil, refs.String(), "git", "update-ref", "--stdin"); err != nil {
		t.Fatal(out)
	}
	return p, names
}

// timed is the median of some runs of f, each of which gets its number.
func timed(t *testing.T, runs int, f func(i int) error) time.Duration {
	t.Helper()
	var all []time.Duration
	for i := range runs {
		start := time.Now()
		if err := f(i); err != nil {
			t.Fatal(err)
		}
		all = append(all, time.Since(start))
	}
	return benchtest.Median(all)
}

// TestBenchManyParts measures what grows with the number of directives at work, each part
// by itself: what breaks first where there are a thousand.
func TestBenchManyParts(t *testing.T) {
	tier.Full(t, "it measures")
	benchtest.Only(t)
	for _, n := range []int{10, 100, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p, names := crowded(t, n)
			for _, packed := range []bool{false, true} {
				how := "loose"
				if packed {
					p.Run(p.Bare, "git", "pack-refs", "--all")
					how = "packed"
				}
				partsOf(t, p, names[0], fmt.Sprintf("%d directives at work, %d refs %s: ", n, 5*n, how))
			}
			document(t, p, n)
		})
	}
}

// document measures COMMS.md with a report on each directive.
func document(t *testing.T, p *gittest.Pair, n int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.Work, "COMMS.md"))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range n {
		amended, err := comms.Amend(data, comms.NewReport{Time: began, Directive: fmt.Sprintf("D-%d", i+1), Status: comms.Done, Text: "A file was written."}, comms.Whole)
		if err != nil {
			t.Fatal(err)
		}
		data = amended.Data
	}
	size := fmt.Sprintf("%d kB", len(data)/1000)
	read := timed(t, 9, func(int) error { comms.Parse(data); return nil })
	benchtest.Row(fmt.Sprintf("%d directives at work: COMMS.md with a report on each, read", n), benchtest.MS(read), size, "")
	benchtest.Row(fmt.Sprintf("%d directives at work: a report appended, on average of all", n), benchtest.MS(time.Since(began)/time.Duration(n)), "", "")
}

// partsOf measures what touches all refs of a repository.
func partsOf(t *testing.T, p *gittest.Pair, worker, what string) {
	t.Helper()
	run := func(dir, name string, args ...string) error {
		out, err := p.Try(dir, nil, "", name, args...)
		if err != nil {
			err = fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
		}
		return err
	}
	plain := filepath.Join(t.TempDir(), "plain.git")
	p.Run(p.Work, "cp", "-a", p.Bare, plain)
	p.Run(plain, "git", "config", "core.hooksPath", "/nonexistent")
	push := func(bare, branch string) time.Duration {
		return timed(t, 7, func(i int) error {
			p.Git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprint(branch, i))
			return run(p.Work, "git", "push", "--quiet", bare, "HEAD:refs/heads/agent/D-1")
		})
	}
	base := push(plain, "plain")
	key, err := os.ReadFile(filepath.Join(p.Bare, token.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	guarded := timed(t, 7, func(i int) error {
		env := token.Environ(key, token.NewID(time.Now()), "agent", worker) // of the first lease's holder
		p.Git("commit", "--quiet", "--allow-empty", "--message", fmt.Sprint("guarded", i))
		if out, err := p.Try(p.Work, env, "", "git", "push", "--quiet", "origin", "HEAD:refs/heads/agent/D-1"); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	benchtest.Against(what+"a push of one commit, Ward's hooks", guarded, "no hooks", base)
	each := timed(t, 9, func(int) error { return run(p.Bare, "git", "for-each-ref") })
	benchtest.Against(what+"git for-each-ref", each, "git --version", timed(t, 9, func(int) error { return run(p.Bare, "git", "--version") }))
	gone := timed(t, 5, func(i int) error {
		return run(p.Bare, "git", "update-ref", "-d", fmt.Sprintf("refs/ward/folded/D-%d.1", i+1))
	})
	made := timed(t, 5, func(i int) error {
		return run(p.Bare, "git", "update-ref", fmt.Sprintf("refs/ward/folded/D-%d.1", i+1), "refs/ward/uow/D-1.1")
	})
	benchtest.Against(what+"a ref deleted", gone, "made", made)
	reader := git.Open(p.Bare).Reader(t.Context())
	defer reader.Close()
	doc, err := state.ReadComms(reader, "main")
	if err != nil {
		t.Fatal(err)
	}
	read := timed(t, 5, func(int) error {
		var k schedule.Known
		k.Control(doc.Document)
		return k.Units(reader, "")
	})
	var k schedule.Known
	k.Control(doc.Document)
	again := timed(t, 5, func(int) error { return k.Units(reader, "") })
	benchtest.Against(what+"what units say, read again where one has moved", again, "read anew", read)
	s := schedule.State{Rules: schedule.Rules{Now: time.Now(), Loop: true}, Directives: k.Directives, Slots: []schedule.Slot{{Number: 1}}}
	decided := timed(t, 5, func(int) error { schedule.Assign(s); return nil })
	benchtest.Row(what+"who is to work on what, decided", benchtest.MS(decided), "", "")
}
