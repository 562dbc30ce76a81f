package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/internal/live"
	"git-ward/internal/runstate"
)

// listening is a launch that writes down what it hears of D-1; stop ends that.
func listening(t *testing.T) (e *receiver, bare string, stop func()) {
	t.Helper()
	bare = filepath.Join(t.TempDir(), "x.git")
	gittest.Git(t, filepath.Dir(bare), "init", "--quiet", "--bare", bare)
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	l := &launch{spec: Spec{Bare: bare, State: t.TempDir(), Settings: new(config.Config), Redact: func() func(string) string {
		return func(s string) string { return strings.ReplaceAll(s, "geheim", "[secret]") }
	}}, log: zerolog.Nop()}
	v := l.newLives()
	ctx, cancel := context.WithCancel(t.Context())
	go v.run(ctx)
	e = v.listen("D-1", always, func(bool) {})
	return e, bare, sync.OnceFunc(func() { e.close(); cancel(); <-v.ended })
}

func always() bool { return true }

func wire(unit, text string) []byte {
	return live.Event{Time: time.Now(), Unit: unit, Kind: live.Said, Text: text}.Line()
}

// TestLives: what the agent says of the directive that is worked on is written down at once,
// cleaned and without secrets; what it says of another one, or in the host's name, is not,
// and that is told.
func TestLives(t *testing.T) {
	e, bare, stop := listening(t)
	f := runstate.Follow(bare, "D-1") // from here on: before the word is told
	e.heard(wire("D-1.1", "the key is geheim"))
	await.True(t, "a word is written down before the next one comes", func() bool {
		events, _ := f.More()
		return len(events) > 0
	})
	e.heard(live.Event{Time: time.Now(), Unit: "D-1.1", Role: "geheim", Kind: live.Step, Tool: "geheim", Text: "a step"}.Line())
	e.heard(wire("D-2.1", "of another"))
	e.heard([]byte("no event"))
	e.heard(live.Event{Time: time.Now(), Unit: "D-1.1", Role: live.Host, Kind: live.Verdict, Text: "forged"}.Line())
	e.heard(live.Event{Time: time.Now(), Unit: "D-1.1", Kind: live.Beat}.Line())
	e.v.tell(live.Event{Unit: "D-1.1", Kind: live.Verdict, Text: "run 1"})
	e.tell(live.Event{Kind: live.Ended, Text: "exit 1"})
	stop()
	events, err := runstate.Tail(bare, "D-1", 100)
	var got strings.Builder
	var step live.Event
	others, left := 0, 0
	for _, event := range events {
		fmt.Fprintf(&got, "%s %s\n", event.Kind, event.Text)
		if n := 0; event.Kind == live.LeftOut { // told at each look, of which one may come amid these
			fmt.Sscan(event.Text, &n)
			left += n
		} else {
			others++
		}
		if event.Kind == live.Step {
			step = event
		}
	}
	if err != nil || !strings.HasPrefix(got.String(), "said the key is [secret]\n") || step.Text != "a step" || !strings.Contains(got.String(), "verdict run 1\n") ||
		!strings.Contains(got.String(), "ended exit 1\n") || left != 3 || others != 4 ||
		step.Role != "[secret]" || step.Tool != "[secret]" {
		t.Errorf("%s, %v", got.String(), err)
	}
	if events, _ := runstate.Tail(bare, "D-2", 100); len(events) > 0 {
		t.Errorf("of another: %+v", events)
	}
	if s := e.v.signs["D-1"]; s.Beat.IsZero() || s.Work.IsZero() || !s.Beat.After(s.Work) {
		t.Errorf("the signs: %+v", s)
	}
}

// TestLivesByHalves: a secret that is told in pieces is not whole in what is kept, and the words
// around it are.
func TestLivesByHalves(t *testing.T) {
	e, bare, stop := listening(t)
	for _, text := range []string{"It is ge", "heim, as", "you know.", "And so on."} {
		e.heard(wire("D-1.1", text))
	}
	stop()
	events, err := runstate.Tail(bare, "D-1", 100)
	var got []string
	for _, event := range events {
		got = append(got, event.Text)
	}
	if want := "It is ge|[secret], as|you know.|And so on."; err != nil || strings.Join(got, "|") != want {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLivesFlood: whatever comes, nobody waits and no disk fills, and the host's own is there.
func TestLivesFlood(t *testing.T) {
	e, bare, stop := listening(t)
	line := wire("D-1.1", strings.Repeat("x", live.MaxText))
	for range 1 << 15 { // 64 MiB
		e.heard(line)
	}
	e.v.tell(live.Event{Unit: "D-1.1", Kind: live.Ended, Text: "it is over"})
	stop()
	var size int64
	entries, _ := os.ReadDir(filepath.Join(bare, runstate.LiveDir))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	if size == 0 || size > 2*runstate.MaxLive {
		t.Errorf("%d bytes are kept", size)
	}
	events, err := runstate.Tail(bare, "D-1", 3)
	if err != nil || len(events) == 0 || !strings.Contains(fmt.Sprint(events), "left out") {
		t.Errorf("%+v, %v", events, err)
	}
	if left := e.full.Load(); left != 0 {
		t.Errorf("%d lines had no room, and nobody is told", left)
	}
}

// TestLivesBeside: while secrets are looked for in one worker's words, another's are written down.
func TestLivesBeside(t *testing.T) {
	e, bare, stop := listening(t)
	defer stop()
	begun, over := make(chan struct{}), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) }) // the words are searched with those before, too
	e.v.redact = func() func(string) string {
		return func(s string) string {
			if s == "long" {
				begin()
				<-over
			}
			return s
		}
	}
	slow, other := e.v.listen("D-2", always, func(bool) {}), e.v.listen("D-1", always, func(bool) {})
	f := runstate.Follow(bare, "D-1")
	slow.heard(wire("D-2.1", "long"))
	<-begun
	other.heard(wire("D-1.1", "beside it"))
	await.True(t, "the word of D-1", func() bool {
		events, _ := f.More()
		return len(events) > 0
	})
	close(over)
	slow.close()
	other.close()
}

// TestStoppedTerminal: somebody has stopped the terminal that the agent prints to. The agent
// prints on, its words are there for those who look, and the launch ends.
func TestStoppedTerminal(t *testing.T) {
	_, bare, stop := listening(t)
	stop()
	read, write := io.Pipe() // nobody reads
	defer read.Close()
	l := &launch{spec: Spec{Bare: bare, State: t.TempDir(), Settings: new(config.Config), Payload: Payload{Stdout: write, Stderr: write}}, log: zerolog.Nop()}
	end := l.listen(t.Context())
	w := &worker{launch: l, receiver: l.eventLog.listen("D-1", always, func(bool) {})}
	flush := w.screen(t.Context())
	l.eventLog.tell(live.Event{Unit: "D-1.1", Kind: live.Ended, Text: "it is over"})
	lines := bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 1<<10)
	for range 1 << 7 { // 12 MiB, the queue and more
		w.payload.Stdout.Write(lines)
		w.payload.Stderr.Write(lines)
	}
	flush()
	w.receiver.close()
	end()
	if events, err := runstate.Tail(bare, "D-1", 1); err != nil || len(events) != 1 {
		t.Errorf("%v, %v", events, err)
	}
}

// TestLivesOfMany: a launch that sees more and more directives tells of the newest one, too,
// and holds few files open.
func TestLivesOfMany(t *testing.T) {
	_, bare, stop := listening(t)
	stop()
	l := &launch{spec: Spec{Bare: bare, State: t.TempDir(), Settings: new(config.Config)}, log: zerolog.Nop()}
	notes := filepath.Join(bare, runstate.LiveDir, "notes") // somebody's, and older than all
	if err := errors.Join(os.MkdirAll(filepath.Dir(notes), 0o755), os.WriteFile(notes, nil, 0o644), os.Chtimes(notes, time.Time{}, time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	v := l.newLives()
	const many = 3 * runstate.MaxLiveFiles
	for i := range many {
		v.write(live.Event{Time: time.Now(), Unit: fmt.Sprintf("D-%d", i+1), Role: live.Host, Kind: live.Ended, Text: "it is over"})
	}
	if len(v.files) > maxOpen {
		t.Errorf("%d directives have their files open", len(v.files))
	}
	v.close()
	events, err := runstate.Tail(bare, fmt.Sprintf("D-%d", many), 1)
	if err != nil || len(events) != 1 {
		t.Errorf("the newest directive's: %v, %v", events, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(bare, runstate.LiveDir)); len(entries) > 2*runstate.MaxLiveFiles+maxOpen {
		t.Errorf("%d files are kept", len(entries))
	}
	if _, err := os.Stat(notes); err != nil {
		t.Error(err)
	}
}

// TestLivesOfNoLease: words of a worker whose lease is another's are told of nobody.
func TestLivesOfNoLease(t *testing.T) {
	e, bare, stop := listening(t)
	held := true
	mine := e.v.listen("D-3", func() bool { return held }, func(bool) {})
	if event := (live.Event{Time: time.Now(), Unit: "D-3.1", Kind: live.Said, Text: "mine"}); !mine.note(event, nil) {
		t.Error("a word of the holder's is not heeded")
	}
	held = false
	if event := (live.Event{Time: time.Now(), Unit: "D-3.1", Kind: live.Said, Text: "late"}); mine.note(event, nil) {
		t.Error("a word of an earlier holder's is heeded")
	}
	mine.close()
	stop()
	if events, err := runstate.Tail(bare, "D-3", 9); err != nil || len(events) != 2 || events[0].Text != "mine" || events[1].Kind != live.LeftOut {
		t.Errorf("%+v, %v", events, err)
	}
}

// TestLivesTidy: the files of directives that nobody works on do not become more and more.
func TestLivesTidy(t *testing.T) {
	bare := t.TempDir()
	dir := filepath.Join(bare, runstate.LiveDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 3 * runstate.MaxLiveFiles {
		path := filepath.Join(dir, fmt.Sprintf("D-%d.jsonl", i+1))
		if err := os.WriteFile(path, []byte("x"), 0o640); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1_000_000+i), 0)
		os.Chtimes(path, at, at)
	}
	if err := tidy(dir); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(dir)
	if _, err := os.Stat(filepath.Join(dir, "D-1.jsonl")); len(left) != 2*runstate.MaxLiveFiles || err == nil {
		t.Errorf("%d files are left", len(left))
	}
}
