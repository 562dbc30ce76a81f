package growth

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/internal/flock"
)

func bare(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"ward", "objects"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLedger: pushes at the same time are each added, the last part of the limit is for
// small ones, and a count keeps what came while it was made.
func TestLedger(t *testing.T) {
	dir := bare(t)
	const limit = 16 << 20
	var done sync.WaitGroup
	for range 16 {
		done.Go(func() {
			err := Add(t.Context(), dir, "D-1", 100<<10, limit)
			for errors.Is(err, flock.ErrHeld) { // on a slow disk a push gives up before its turn
				err = Add(t.Context(), dir, "D-1", 100<<10, limit)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	before, err := Read(dir)
	if err != nil || before.Bytes != 1600<<10 || before.Brought != before.Bytes || !before.Counted.IsZero() {
		t.Fatalf("%+v, %v", before, err)
	}
	var full *Full
	if err := Add(t.Context(), dir, "", 14<<20, limit); !errors.As(err, &full) || full.Limit != 15<<20 {
		t.Errorf("a large push took the last of it: %v", err)
	}
	if err := Add(t.Context(), dir, "D-2", 5<<20, limit); err != nil {
		t.Error(err)
	}
	after, err := Count(t.Context(), dir, before, 15<<20, true)
	if err != nil || after.Bytes != 20<<20 || after.Counted.IsZero() || !maps.Equal(after.By, map[string]int64{"D-2": 5 << 20}) {
		t.Errorf("the push that came meanwhile is lost: %+v, %v", after, err)
	}
	if l, err := Count(t.Context(), dir, after, 15<<20, false); err != nil || !maps.Equal(l.By, after.By) {
		t.Fatalf("nothing was freed, and %+v is left of %+v: %v", l.By, after.By, err)
	}
	if err := Add(t.Context(), dir, "", 1<<10, limit); err != nil {
		t.Errorf("a report finds no room: %v", err)
	}
	if err := Add(t.Context(), dir, "", 65<<10, limit); !errors.As(err, &full) {
		t.Errorf("beyond: %v", err)
	}
}

// TestLastPart: who works alone and fills all it may leaves another directive, and the host's own
// reports, some room.
func TestLastPart(t *testing.T) {
	dir := bare(t)
	const limit = 16 << 20
	if err := Add(t.Context(), dir, "D-1", 15<<20, limit); err != nil {
		t.Fatal(err)
	}
	pushes := 0
	var full *Full
	for err := error(nil); err == nil; pushes++ {
		if err = Add(t.Context(), dir, "D-1", 60<<10, limit); err != nil && !errors.As(err, &full) {
			t.Fatal(err)
		}
	}
	if pushes < 5 || full.Limit != limit-limit/32 {
		t.Errorf("%d small pushes, then %v", pushes, full)
	}
	for _, directive := range []string{"D-2", "", "D-2"} {
		if err := Add(t.Context(), dir, directive, 60<<10, limit); err != nil {
			t.Errorf("%q: %v", directive, err)
		}
	}
}

// TestManyDirectives: a ledger of more directives than it keeps knows the largest, and can
// be read.
func TestManyDirectives(t *testing.T) {
	dir := bare(t)
	full := Ledger{By: map[string]int64{}}
	for n := range maxBy {
		full.By[fmt.Sprintf("D-%d", 999_999_999-n)] = 1<<40 + int64(n)
	}
	if err := change(t.Context(), dir, func(Ledger, error) (Ledger, error) { return full, nil }); err != nil {
		t.Fatal(err)
	}
	for directive, there := range map[string]bool{"D-1": false, "D-2": true} {
		bytes := map[bool]int64{false: 1, true: 1 << 41}[there]
		if err := Add(t.Context(), dir, directive, bytes, 1<<50); err != nil {
			t.Fatal(err)
		}
		if l, err := Read(dir); err != nil || len(l.By) != maxBy || (l.By[directive] > 0) != there {
			t.Errorf("%s: %d directives, %d bytes, %v", directive, len(l.By), l.By[directive], err)
		}
	}
}

// TestBrokenLedger: a ledger that cannot be read lets nothing in until it is counted.
func TestBrokenLedger(t *testing.T) {
	for _, text := range []string{"", "x", `{"bytes":-1}`, `{"by":{"D-1":-1}}`, string(make([]byte, maxFile+1))} {
		dir := bare(t)
		if err := os.WriteFile(filepath.Join(dir, Path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Add(t.Context(), dir, "", 1, 100); err == nil {
			t.Errorf("%.10q let a push in", text)
		}
		if l, err := Count(t.Context(), dir, Ledger{}, 7, true); err != nil || l.Bytes != 7 {
			t.Errorf("%.10q: %+v, %v", text, l, err)
		}
		if err := Add(t.Context(), dir, "", 1, 100); err != nil {
			t.Error(err)
		}
	}
}

// TestGate: pushes are in together, who is alone is alone, and waits in front of pushes
// that come after him.
func TestGate(t *testing.T) {
	dir := bare(t)
	synctest.Test(t, func(t *testing.T) { gate(t, dir) })
}

func gate(t *testing.T, dir string) {
	one, err := Enter(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Enter(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 2)
	go func() {
		leave, err := Alone(t.Context(), dir)
		if err != nil {
			t.Error(err)
			return
		}
		events <- "alone"
		time.Sleep(50 * time.Millisecond) // a push that came in meanwhile would be first
		leave()
	}()
	time.Sleep(100 * time.Millisecond) // until he waits
	go func() {
		if _, err := Enter(t.Context(), dir); err != nil {
			t.Error(err)
		}
		events <- "push"
	}()
	select {
	case e := <-events:
		t.Fatalf("%s, while two pushes are in", e)
	case <-time.After(100 * time.Millisecond): // nothing is to happen
	}
	one.Close()
	two.Close()
	if first, second := <-events, <-events; first != "alone" || second != "push" {
		t.Error(first, second)
	}
}

// TestMark: a push looks again after objects went, for as long as it may have lasted, and
// after a clock was set back.
func TestMark(t *testing.T) {
	dir := bare(t)
	if Marked(dir) {
		t.Error("marked before anything")
	}
	if err := Mark(dir); err != nil || !Marked(dir) {
		t.Error("not marked", err)
	}
	for age, want := range map[time.Duration]bool{markAge + time.Minute: false, -24 * time.Hour: true} {
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(dir, markPath), at, at); err != nil {
			t.Fatal(err)
		}
		if Marked(dir) != want {
			t.Errorf("of %v ago: %v", age, !want)
		}
	}
}

// TestQuarantines: what a killed receive-pack left goes when it is old, and counts before.
func TestQuarantines(t *testing.T) {
	dir := bare(t)
	for name, age := range map[string]time.Duration{"tmp_objdir-incoming-aaaaaa": abandonedAfter + time.Minute, "tmp_objdir-incoming-bbbbbb": time.Minute} {
		path := filepath.Join(dir, "objects", name, "pack")
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "tmp_pack_x"), make([]byte, 100<<10), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		for _, p := range []string{filepath.Join(path, "tmp_pack_x"), path, filepath.Dir(path)} {
			if err := os.Chtimes(p, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	of, err := Quarantines(dir, nobody)
	if err != nil || of[""] != 100<<10 {
		t.Errorf("%v, %v", of, err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "objects/*"))
	if len(left) != 1 || filepath.Base(left[0]) != "tmp_objdir-incoming-bbbbbb" {
		t.Error(left)
	}
	if free, err := Free(dir); err != nil || free <= 0 {
		t.Error(free, err)
	}
}

// TestQuarantinesAsk: who pushes is asked of the machine's processes only where a push is under way.
func TestQuarantinesAsk(t *testing.T) {
	bare := t.TempDir()
	asked := 0
	running := func() map[string]string {
		asked++
		return map[string]string{"tmp_objdir-incoming-a": "D-1", "tmp_objdir-incoming-b": "D-1"}
	}
	for _, want := range []struct {
		name  string
		asked int
	}{{"pack", 0}, {"tmp_objdir-incoming-a", 1}, {"tmp_objdir-incoming-b", 2}} { // once for both
		if err := os.MkdirAll(filepath.Join(bare, "objects", want.name), 0o755); err != nil {
			t.Fatal(err)
		}
		left, err := Quarantines(bare, running)
		if _, of := left["D-1"]; err != nil || asked != want.asked || of != (asked > 0) || len(left) > 1 {
			t.Errorf("%s: %v, %v, asked %d times", want.name, left, err, asked)
		}
	}
}

// nobody pushes.
func nobody() map[string]string { return nil }
