package door

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/git"
)

// stream is what a client hears of a repository's refs, line by line.
func stream(t *testing.T, bare string, concerns func(string) bool, listens bool) <-chan string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, done := newRefStream(git.Open(bare), concerns, write)
	if !listens {
		done()
		s.notify = nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(ctx)
		write.Close()
	}()
	lines := make(chan string, 1000)
	go func() {
		for scanner := bufio.NewScanner(read); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		read.Close()
		if listens {
			done()
		}
	})
	return lines
}

// hears waits for a line that ends so, and for the point after it.
func hears(t *testing.T, lines <-chan string, want string) (all []string) {
	t.Helper()
	found := false
	for {
		line := await.Value(t, "a line that ends in "+want, lines)
		all = append(all, line)
		if found = found || strings.HasSuffix(line, want); found && line == "." {
			return all
		}
	}
}

// TestWatch: a ref that comes, moves, is packed and goes, in a directory that is new, is told
// once each time, to who is told by the kernel and to who has to look.
func TestWatch(t *testing.T) {
	t.Parallel()
	for _, listens := range []bool{true, false} {
		f := newFixture(t, nil)
		f.git(f.clone, "push", "-q", f.bare, "HEAD:refs/heads/main")
		one := strings.TrimSpace(f.git(f.clone, "rev-parse", "HEAD"))
		f.commit("a", "two\n")
		f.git(f.clone, "push", "-q", f.bare, "HEAD:refs/heads/other")
		two := strings.TrimSpace(f.git(f.clone, "rev-parse", "HEAD"))
		lines := stream(t, f.bare, concerning("D-1"), listens)
		if all := hears(t, lines, "refs/heads/other"); all[0] != "HEAD refs/heads/main" || all[1] != git.Zero+" "+one+" refs/heads/main" {
			t.Errorf("%q", all)
		}
		for _, step := range []struct {
			do   []string
			want string
		}{
			{[]string{"update-ref", "refs/heads/agent/D-1/deep/er", one}, git.Zero + " " + one + " refs/heads/agent/D-1/deep/er"},
			{[]string{"update-ref", "refs/heads/agent/D-1/deep/er", two}, one + " " + two + " refs/heads/agent/D-1/deep/er"},
			{[]string{"update-ref", "-d", "refs/heads/agent/D-1/deep/er"}, two + " " + git.Zero + " refs/heads/agent/D-1/deep/er"},
			{[]string{"update-ref", "refs/ward/uow/D-1.1", one}, git.Zero + " " + one + " refs/ward/uow/D-1.1"},
		} {
			f.git(f.bare, step.do...)
			told := slices.DeleteFunc(hears(t, lines, step.want), func(line string) bool { return line == "." || strings.HasSuffix(line, " refs/") }) // as below
			if len(told) != 1 {
				t.Errorf("%v: %q", step.do, told)
			}
		}
		// What does not concern the directive, and what only is kept otherwise, is not told.
		for _, ref := range []string{"refs/ward/audit", "refs/notes/audit", "refs/ward/uow/D-2.1", "refs/ward/record/D-11.1", "refs/heads/agent/D-7"} {
			f.git(f.bare, "update-ref", ref, one)
		}
		f.git(f.bare, "pack-refs", "--all")
		f.git(f.bare, "update-ref", "refs/heads/last", one)
		for _, line := range hears(t, lines, "refs/heads/last") {
			if line != "." && !strings.HasSuffix(line, "refs/heads/last") && !strings.HasSuffix(line, " refs/") { // directories came and went
				t.Errorf("listening %v: %q is told", listens, line)
			}
		}
		if left, _ := filepath.Glob(filepath.Join(f.bare, "refs", "*.lock")); left != nil {
			t.Error(left)
		}
	}
}

// TestConcerning: what others work on is theirs, and D-1 is not D-11.
func TestConcerning(t *testing.T) {
	concerns := concerning("D-1")
	for ref, want := range map[string]bool{
		"refs/heads/main": true, "refs/heads/agent/D-1": true, "refs/heads/agent/D-1-lessons": true, "refs/ward/uow/D-1.12": true, "refs/ward/lease/D-1": true, "refs/notes/certificates": true,
		"refs/ward/record/D-1.1": true, "refs/heads/agent/idea": true, "refs/ward/last-good": true,
		"refs/heads/agent/D-11": false, "refs/ward/uow/D-11.1": false, "refs/ward/lease/D-2": false, "refs/ward/audit": false, "refs/notes/audit": false, "refs/ward/folded/D-2.1": false,
	} {
		if concerns(ref) != want {
			t.Errorf("%s: %v", ref, !want)
		}
	}
}

// TestWatchBack: what moves and moves back before it is looked at is told as something that
// did: a client that fetched in between has what is not there any more.
func TestWatchBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.git(f.clone, "push", "-q", f.bare, "HEAD:refs/heads/main")
	f.commit("a", "two\n")
	f.git(f.clone, "push", "-q", f.bare, "HEAD:refs/heads/other")
	one, two := strings.TrimSpace(f.git(f.bare, "rev-parse", "main")), strings.TrimSpace(f.git(f.bare, "rev-parse", "other"))
	var out strings.Builder
	s, stop := newRefStream(git.Open(f.bare), concerning("D-1"), &out)
	defer stop()
	look := func(touched ...string) string {
		t.Helper()
		all := len(touched) == 0
		for _, ref := range touched {
			all = s.heard(filepath.Join(f.bare, ref)) || all
		}
		if all {
			if err := s.list(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.back()
		s.out.Flush()
		defer out.Reset()
		return out.String()
	}
	s.follow()
	look()
	const back = git.Zero + " " + git.Zero + " refs/\n"
	for _, c := range []struct {
		what    string
		touched []string
		want    string
	}{
		{"a branch that came and went", []string{"refs/heads/topic"}, back},
		{"one that moved and moved back", []string{"refs/heads/main"}, back},
		{"what this client is not told of", []string{"refs/ward/audit"}, ""},
	} {
		if got := look(c.touched...); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	f.git(f.bare, "update-ref", "refs/heads/main", two)
	if got, want := look("refs/heads/main", "refs/heads/main"), one+" "+two+" refs/heads/main\n"; got != want {
		t.Errorf("one that moved, told twice: %q, want %q", got, want)
	}
	f.git(f.bare, "update-ref", "refs/heads/main", one)
	if got, want := look("refs/heads/topic", "refs/heads/main"), two+" "+one+" refs/heads/main\n"+back; got != want {
		t.Errorf("one that moved, and one that came and went: %q, want %q", got, want)
	}
	// Where nobody knows what was touched, the heartbeat says it once.
	f.git(f.bare, "pack-refs", "--all")
	if got := look("packed-refs", "refs/heads"); got != "" {
		t.Errorf("refs that are packed: %q", got)
	}
	for _, want := range []string{back + ".\n", ".\n"} {
		out.Reset()
		if err := s.beat(); err != nil || out.String() != want {
			t.Errorf("a heartbeat: %v %q, want %q", err, out.String(), want)
		}
	}
}
