package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ward/internal/await"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
	"git-ward/protocols/review"
)

// paper is a writer that a test reads while it is written to.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *paper) has(t *testing.T, texts ...string) string {
	t.Helper()
	var text string
	await.True(t, fmt.Sprintf("it prints %q", texts), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		text = p.text.String()
		return hasAll(text, texts)
	})
	return text
}

func hasAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// follow prints what a looker sees until the test ends.
func follow(t *testing.T, looker *Looker) *paper {
	p := &paper{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Follow(ctx, looker, p) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return p
}

// TestFollow prints a line a change: where directives stand, what waits with its command,
// the words as they are written to the host's file, trouble, and no line twice.
func TestFollow(t *testing.T) {
	r := busyRepository(t)
	p := follow(t, NewLooker(r, "", 50*time.Millisecond))
	p.has(t, "project.git: the launcher runs, process 4711", "D-3 part politely: at work: iteration 2 of 3; 2 of 3 iterations, 1,234,567 tokens",
		"D-1 waits for you: the work is proved; look at it, and take it or drop it: git ward review --bare "+r.dir+" D-1", "D-3.1 verdict: criterion 2 of 5")
	tell(t, r.dir, "D-3", live.Event{Time: at("10:00:00"), Unit: "D-3.1", Kind: live.Said, Text: "I begin.\nI go on. \x1b[2J"})
	p.has(t, `10:00:00 D-3.1 says I begin.\nI go on. \x1b[2J`)
	r.set(func() { r.err = errors.New("it is gone") })
	p.has(t, "trouble: it is gone")
	gone := r.dir + ".gone"
	if err := os.Rename(r.dir, gone); err != nil {
		t.Fatal(err)
	}
	p.has(t, "trouble: the repository is not there: ")
	r.set(func() { // before it is there again, or its first trouble may be seen once more
		over := *r.over
		over.Directives[2].State, over.Directives[2].Words = review.Ready, "proved"
		r.err, r.over, r.version = nil, &over, "2"
	})
	if err := os.Rename(gone, r.dir); err != nil {
		t.Fatal(err)
	}
	text := p.has(t, "the trouble is over", "D-3 part politely: proved")
	for line := range strings.Lines(text) {
		if _, rest, _ := strings.Cut(line, " "); strings.Count(text, rest) > 1 {
			t.Errorf("said twice: %s", line)
		}
	}
}

// tell writes an event as the host does.
func tell(t *testing.T, bare, directive string, e live.Event) {
	t.Helper()
	path := filepath.Join(bare, runstate.LivePath(directive))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(e.Line()); err != nil {
		t.Fatal(err)
	}
}

// TestWordsOfBefore: whoever opens a directive sees what was said before, once, and never
// more than is kept.
func TestWordsOfBefore(t *testing.T) {
	r := busyRepository(t)
	for range maxLive + 100 {
		tell(t, r.dir, "D-3", live.Event{Time: at("10:00:00"), Unit: "D-3.1", Kind: live.Said, Text: "again"})
	}
	l := NewLooker(r, "D-3", time.Minute)
	if !l.look(t.Context()) || len(l.scene.Live) != maxLive {
		t.Fatalf("%d events", len(l.scene.Live))
	}
	tell(t, r.dir, "D-3", live.Event{Time: at("10:00:01"), Unit: "D-3.1", Kind: live.Said, Text: "new"})
	if !l.hear() || len(l.scene.Live) != maxLive || l.scene.Live[maxLive-1].Text != "new" || len(l.scene.New) != 1 {
		t.Errorf("%d events, %d of them new", len(l.scene.Live), len(l.scene.New))
	}
	l.unfollow("D-3")
}

// TestHungFetch: a network that hangs keeps nobody from looking, and is said.
func TestHungFetch(t *testing.T) {
	tier.First(t, "a fetch is slow after two seconds")
	r := busyRepository(t)
	r.bare = false
	l := NewLooker(r, "", time.Minute)
	began := make(chan struct{}, 1)
	l.Fetch = func(ctx context.Context) error {
		began <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	p := follow(t, l)
	<-began
	p.has(t, "D-3 part politely")
	p.has(t, "git fetch has not answered since", "what is shown is what was there before")
}

// TestFetching: a fetch that fails is said with its words, one that works ends the trouble,
// and none begins before its time.
func TestFetching(t *testing.T) {
	var f fetching
	calls := 0
	fetch := func(context.Context) error { calls++; return nil }
	f.begin(t.Context(), time.Hour, fetch)
	f.end(<-f.ended)
	f.begin(t.Context(), time.Hour, fetch)
	if calls != 1 || f.ended != nil || f.trouble() != "" {
		t.Errorf("%d fetches, %q", calls, f.trouble())
	}
	f.end(errors.New("git fetch: no route to host"))
	if text := f.trouble(); !strings.HasPrefix(text, "git fetch: no route to host; what is shown was fetched at ") {
		t.Error(text)
	}
	f.end(context.DeadlineExceeded)
	if text := f.trouble(); !strings.Contains(text, "did not answer within 1m0s") {
		t.Error(text)
	}
}
