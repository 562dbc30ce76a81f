package lastgood

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/boot"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// TestWriter: the watcher's lines about a start are taken out, however they come, and
// all other bytes pass.
func TestWriter(t *testing.T) {
	const other = "hello\nward-watcher: something\x00\nx " + boot.Booted + "abc\n" + boot.Booted + "no end of the line"
	var out bytes.Buffer
	var said []string
	w := NewWriter(&out, boot.Booted, func(commit string) error {
		said = append(said, commit)
		if commit == "bad" {
			return errors.New("no such commit")
		}
		return nil
	})
	for _, c := range []byte(boot.Booted + "abc\n" + boot.Booted + "bad\n" + other) {
		if n, err := w.Write([]byte{c}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	w.Write([]byte(strings.Repeat(" of it", 20) + "\n"))
	want := "ward: what held is not written down: no such commit\n" + other + strings.Repeat(" of it", 20) + "\n"
	if out.String() != want || strings.Join(said, " ") != "abc bad" {
		t.Errorf("said %q; passed\n%q, want\n%q", said, out.String(), want)
	}
}

// control is where both branches are one.
var control = config.Default().Control

// TestHeld: what comes out of the fence moves refs/ward/last-good to commits
// of main only, and all else passes.
func TestHeld(t *testing.T) {
	tier.First(t, "it builds the binaries for a guarded repository")
	p := gittest.New(t)
	first := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Git("checkout", "-q", "-b", "agent/x")
	p.Commit("x", "x")
	p.Git("push", "-q", "origin", "agent/x")
	branch := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	var out bytes.Buffer
	book := Book{p.Bare, control}
	lines := NewWriter(&out, boot.Booted, func(commit string) error { return book.Held(t.Context(), commit) })
	write := func(text string) {
		for _, c := range []byte(text) { // as it may come
			if _, err := lines.Write([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
	}
	lastGoodIs := func(want string) {
		t.Helper()
		if got := p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", boot.LastGood); strings.TrimSpace(got) != want {
			t.Errorf("last-good is %q, want %q", got, want)
		}
	}
	write("hello\nward-watcher: something\x00\nx ward-watcher: booted " + first + "\n")
	lastGoodIs("")
	for _, bad := range []string{branch, "main", strings.Repeat("0", 40), "--all", first + " " + first, first[:12]} {
		write(boot.Booted + bad + "\n")
		lastGoodIs("")
	}
	if n := strings.Count(out.String(), "is not written down"); n != 6 || !strings.HasPrefix(out.String(), "hello\nward-watcher: something\x00\nx ward-watcher: booted "+first+"\n") {
		t.Errorf("%d refusals:\n%s", n, &out)
	}
	out.Reset()
	write(boot.Booted + first + "\n" + "after\n")
	lastGoodIs(first)
	if out.String() != "after\n" {
		t.Errorf("%q", &out)
	}
	p.Git("checkout", "-q", "main")
	p.Git("merge", "-q", "--no-ff", "-m", "merge", "agent/x")
	p.Git("push", "-q", "origin", "main")
	write(boot.Booted + branch + "\n") // in main's history now, and never was main
	lastGoodIs(first)
	write(boot.Booted + strings.TrimSpace(p.Git("rev-parse", "HEAD")) + "\n")
	lastGoodIs(strings.TrimSpace(p.Git("rev-parse", "HEAD")))
	p.Fsck()
}

// TestList: the programs that held before are kept, a bounded number, each once, whatever
// commits had it; one that holds again is the first again. Which commit fell is known until
// the branch's own program holds.
func TestList(t *testing.T) {
	tier.First(t, "it builds the binaries for a guarded repository")
	p := gittest.New(t)
	book := Book{p.Bare, control}
	commit := func(path, text string) string {
		p.Commit(path, text)
		p.Git("push", "-q", "origin", "main")
		return strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	}
	held := func(id string) {
		t.Helper()
		if err := book.Held(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want ...string) {
		t.Helper()
		out := p.Run(p.Bare, "git", "for-each-ref", "--format=%(refname) %(objectname)", boot.LastGood, "refs/ward/boot/")
		got := map[string]string{}
		for line := range strings.Lines(out) {
			ref, id, _ := strings.Cut(strings.TrimSpace(line), " ")
			got[ref] = id
		}
		expect := map[string]string{}
		for i, id := range want {
			expect[boot.GoodRef(i)] = id
		}
		if !maps.Equal(got, expect) {
			t.Errorf("got %v, want %v", got, expect)
		}
	}
	comms, err := os.ReadFile(p.Work + "/COMMS.md")
	if err != nil {
		t.Fatal(err)
	}
	a := commit("program", "a")
	held(a)
	same := commit("COMMS.md", strings.Replace(string(comms), "## Directives\n", "## Directives\n\n### D-1: do\n", 1))
	held(same) // main moved, and its program did not
	is(same)
	b := commit("program", "b")
	held(b)
	is(b, same)
	if err := book.FellBack(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	held(same)
	if fallen := p.Run(p.Bare, "git", "rev-parse", boot.Fallen); strings.TrimSpace(fallen) != b {
		t.Errorf("%s is fallen, not %s", fallen, b)
	}
	list := []string{same}
	for _, text := range []string{"c", "d", "e", "f"} {
		id := commit("program", text)
		held(id)
		list = append([]string{id}, list...)
	}
	is(list[:boot.MaxGood]...) // the branch's own program holds: none is fallen
	held(list[2])
	is(list[2], list[0], list[1], list[3], list[4])
	// What the branch no longer has, somebody took back.
	p.Run(p.Bare, "git", "update-ref", "refs/heads/main", list[1])
	held(list[1])
	is(list[1], list[2], list[3], list[4])
	p.Run(p.Bare, "git", "update-ref", "refs/heads/main", list[0])
	// A branch that merged main, and that main is moved forward to, has main as its second parent.
	p.Git("checkout", "-q", "-b", "merged", list[4])
	p.Commit("beside", "x")
	p.Git("merge", "-q", "-X", "theirs", "--no-edit", list[0])
	merged := commit("program", "merged")
	p.Git("push", "-q", "origin", "merged:main")
	held(merged)
	is(merged, list[1], list[2], list[3], list[4])
	if err := book.FellBack(t.Context(), strings.Repeat("1", 40)); err == nil {
		t.Error("a commit that is not there fell")
	}
	// What passed a probation is on a branch, and the newest of its directive: whatever another
	// tries, it stays.
	if err := book.Passed(t.Context(), list[1], "D-2"); err != nil {
		t.Fatal(err)
	}
	p.Git("checkout", "-q", "-b", "agent/x", list[0])
	p.Commit("program", "g")
	g := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	passed := func(want ...string) {
		t.Helper()
		out := p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", boot.PassedPrefix)
		if got := strings.Fields(out); !slices.Equal(got, want) {
			t.Errorf("%v passed, not %v", got, want)
		}
	}
	if err := book.Passed(t.Context(), g, "D-1"); err == nil {
		t.Error("a commit of no branch passed")
	}
	tries := []string{g, g}
	for n := range 20 {
		p.Commit("program", strings.Repeat("h", n+1))
		tries = append(tries, strings.TrimSpace(p.Git("rev-parse", "HEAD")))
	}
	p.Git("push", "-q", "origin", "agent/x")
	for _, id := range tries {
		if err := book.Passed(t.Context(), id, "D-1"); err != nil {
			t.Fatal(err)
		}
		passed(id, list[1])
	}
	for _, id := range []string{tries[21], list[1]} {
		if ok, err := book.Tried(t.Context(), id); !ok || err != nil {
			t.Errorf("%s is not known to have passed: %v", id, err)
		}
	}
	p.Fsck()
}

// TestFellBack: a program that gave way is none of those that held, and none that passed a
// probation, whoever starts it again or tries it on a branch: another slot of the launch, or
// the next. It comes back where the earlier ones did no better, or the PM wants that.
func TestFellBack(t *testing.T) {
	tier.First(t, "it builds the binaries for a guarded repository")
	p := gittest.New(t)
	book := Book{p.Bare, control}
	do := func(do func(context.Context, string) error, commit string) {
		t.Helper()
		if err := do(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
	}
	refs := func(want ...string) {
		t.Helper()
		var got []string
		for line := range strings.Lines(p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname) %(refname)", boot.LastGood, boot.Prefix)) {
			got = append(got, strings.TrimSpace(line))
		}
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	good := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	do(book.Held, good)
	p.Git("checkout", "-q", "-b", "agent/x")
	p.Commit("program", "it starts, and dies")
	p.Git("push", "-q", "origin", "agent/x")
	branch := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	pass := func(commit string) error { return book.Passed(t.Context(), commit, "D-1") }
	if err := pass(branch); err != nil {
		t.Fatal(err)
	}
	p.Git("checkout", "-q", "main")
	p.Git("merge", "-q", "--no-ff", "-m", "merge", "agent/x")
	p.Git("push", "-q", "origin", "main")
	bad := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	do(book.Held, bad)
	refs(bad+" "+boot.LastGood, good+" "+boot.GoodRef(1), branch+" "+boot.PassedRef("D-1"))
	do(book.FellBack, bad)
	fell := []string{good + " " + boot.LastGood, bad + " " + boot.Fallen}
	refs(fell...)
	do(book.Held, bad) // another slot's watcher says that it has started
	if err := pass(branch); err != nil {
		t.Fatal(err)
	}
	do(book.Held, good)
	do(book.FellBack, bad)
	refs(fell...)
	do(book.Again, good) // which did not fall
	refs(fell...)
	do(book.Again, bad)
	do(book.Held, bad)
	refs(bad+" "+boot.LastGood, good+" "+boot.GoodRef(1))
	do(book.FellBack, bad)
	p.Commit("program", "mended")
	p.Git("push", "-q", "origin", "main")
	if ok, err := book.Tried(t.Context(), branch); ok || err != nil {
		t.Error("what gave way counts as tried:", err)
	}
	for range 2 {
		if err := book.Forget(t.Context()); err != nil {
			t.Fatal(err)
		}
		refs(good + " " + boot.LastGood)
	}
	do(book.FellBack, bad) // of a worker that began before main moved
	refs(good + " " + boot.LastGood)
	do(book.Held, bad) // of one that an agent rolled back to what main had
	refs(good + " " + boot.LastGood)
	p.Fsck()
}
