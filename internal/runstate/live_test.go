package runstate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/live"
)

// said is a line of a directive's file.
func said(text string) string {
	return string(live.Event{Time: time.Unix(1_800_000_000, 0), Unit: "D-1.1", Kind: live.Said, Text: text}.Line())
}

// file is an empty file of events of D-1, and the repository that it is of.
func file(t *testing.T) (bare, path string) {
	t.Helper()
	bare = t.TempDir()
	if err := os.MkdirAll(filepath.Join(bare, LiveDir), 0o755); err != nil {
		t.Fatal(err)
	}
	return bare, filepath.Join(bare, LivePath("D-1"))
}

func put(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func texts(events []live.Event) string {
	var list []string
	for _, e := range events {
		list = append(list, e.Text)
	}
	return strings.Join(list, " ")
}

// TestTail: the newest events, from the file before this one too, whatever else lies there.
func TestTail(t *testing.T) {
	bare, path := file(t)
	if events, err := Tail(bare, "D-1", 10); len(events) > 0 || err != nil {
		t.Errorf("nothing was told: %v, %v", events, err)
	}
	put(t, path+".1", said("one")+said("two"))
	put(t, path, "\x1b[2J no event\n"+said("three")+"{\"v\":1}\n"+said("four")+said("half")[:20])
	for n, want := range map[int]string{0: "", 1: "four", 2: "three four", 3: "two three four", 9: "one two three four"} {
		if events, err := Tail(bare, "D-1", n); err != nil || texts(events) != want {
			t.Errorf("%d: %q, %v, want %q", n, texts(events), err, want)
		}
	}
	for _, name := range []string{"../D-1", "D-1/../D-1", "", "D-1.1", "D-01"} {
		if events, err := Tail(bare, name, 1); len(events) > 0 || err != nil {
			t.Errorf("%s: %v, %v", name, events, err)
		}
	}
}

// TestTailIsBounded: a file of any size and content is read in a moment, and no other file in
// its place.
func TestTailIsBounded(t *testing.T) {
	bare, path := file(t)
	put(t, path, strings.Repeat("x", 8*MaxLive)+"\n"+said("last"))
	if events, err := Tail(bare, "D-1", 5); err != nil || texts(events) != "last" {
		t.Errorf("%q, %v", texts(events), err)
	}
	for i := range 2000 {
		put(t, path, said(fmt.Sprint(i, " ", strings.Repeat("y", 100))))
	}
	if events, err := Tail(bare, "D-1", 1500); err != nil || len(events) != 1500 || !strings.HasPrefix(events[0].Text, "500 ") {
		t.Errorf("%d events, %v", len(events), err)
	}
	os.Remove(path)
	if err := os.Symlink("/etc/passwd", path); err != nil {
		t.Fatal(err)
	}
	if events, err := Tail(bare, "D-1", 5); err == nil || len(events) > 0 {
		t.Errorf("a link: %v, %v", events, err)
	}
	os.Remove(path)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if events, err := Tail(bare, "D-1", 5); err == nil || len(events) > 0 {
		t.Errorf("a pipe: %v, %v", events, err)
	}
}

// TestFollow: each event comes once, those of a file that has just begun anew too, and a line
// that comes in two parts when it is whole.
func TestFollow(t *testing.T) {
	bare, path := file(t)
	f := Follow(bare, "D-1")
	defer f.Close()
	want := func(words string) {
		t.Helper()
		if events, err := f.More(); err != nil || texts(events) != words {
			t.Errorf("%q, %v, want %q", texts(events), err, words)
		}
	}
	want("")
	put(t, path, said("one"))
	want("one")
	want("")
	line := said("two")
	put(t, path, line[:15])
	want("")
	put(t, path, line[15:]+"no event\n")
	want("two")
	put(t, path, said("three"))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	put(t, path+".1", said("four"))
	put(t, path, said("five"))
	want("three four five")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	want("")
	put(t, path, said("six"))
	want("six")
	later := Follow(bare, "D-1")
	defer later.Close()
	if events, err := later.More(); len(events) > 0 || err != nil {
		t.Errorf("what was told before: %v, %v", events, err)
	}
}

// TestVersion: it changes when anything does for who looks, and not by looking.
func TestVersion(t *testing.T) {
	bare, path := file(t)
	last := Version(bare)
	if last != Version(bare) {
		t.Error("it changes by itself")
	}
	for what, change := range map[string]func(){
		"an event":  func() { put(t, path, said("one")) },
		"a worker":  func() { Worker{Holder: "host.1"}.Tell(bare) },
		"a verdict": func() { Judging{Unit: "D-1.1", Time: time.Now()}.Tell(bare) },
		"a sign":    func() { TellSigns(bare, map[string]Sign{"D-1": {}}) },
		"trouble":   func() { TellTroubles(bare, map[string]Trouble{"D-1": {}}) },
	} {
		change()
		if now := Version(bare); now == last {
			t.Errorf("%s changes nothing", what)
		} else {
			last = now
		}
	}
}
