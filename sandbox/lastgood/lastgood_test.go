package lastgood

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

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
	w := NewWriter(&out, func(commit string) error {
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
	want := "ward: refs/ward/last-good is not moved: no such commit\n" + other + strings.Repeat(" of it", 20) + "\n"
	if out.String() != want || strings.Join(said, " ") != "abc bad" {
		t.Errorf("said %q; passed\n%q, want\n%q", said, out.String(), want)
	}
}

// TestMove: what comes out of the fence moves refs/ward/last-good to commits
// of main only, and all else passes.
func TestMove(t *testing.T) {
	tier.First(t, "it builds the binaries for a guarded repository")
	p := gittest.New(t)
	first := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	p.Git("checkout", "-q", "-b", "agent/x")
	p.Commit("x", "x")
	p.Git("push", "-q", "origin", "agent/x")
	branch := strings.TrimSpace(p.Git("rev-parse", "HEAD"))
	var out bytes.Buffer
	lines := NewWriter(&out, func(commit string) error { return Move(t.Context(), p.Bare, "refs/heads/main", commit) })
	write := func(text string) {
		for _, c := range []byte(text) { // as it may come
			if _, err := lines.Write([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
	}
	lastGoodIs := func(want string) {
		t.Helper()
		if got := p.Run(p.Bare, "git", "for-each-ref", "--format=%(objectname)", Ref); strings.TrimSpace(got) != want {
			t.Errorf("last-good is %q, want %q", got, want)
		}
	}
	write("hello\nward-watcher: something\x00\nx ward-watcher: booted " + first + "\n")
	lastGoodIs("")
	for _, bad := range []string{branch, "main", strings.Repeat("0", 40), "--all", first + " " + first, first[:12]} {
		write(boot.Booted + bad + "\n")
		lastGoodIs("")
	}
	if n := strings.Count(out.String(), "is not moved"); n != 5 || !strings.HasPrefix(out.String(), "hello\nward-watcher: something\x00\nx ward-watcher: booted "+first+"\n") {
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
