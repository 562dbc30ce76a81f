package comms

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRoom: an agent's reports and questions leave a quarter of the document to the PM,
// whatever stands above them, and what was too much may shrink.
func TestRoom(t *testing.T) {
	when := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	grown := func(size int) []byte {
		t.Helper()
		data := []byte("# COMMS\n\n## Directives\n\n### D-1: x\n\n- [ ] y\n\n## Reports\n")
		for n := 0; len(data) < size-16<<10; n++ {
			var err error
			if n%2 == 0 {
				data, _, err = appendReport(data, NewReport{Time: when, Directive: "D-1", Status: Info, Text: strings.Repeat("word ", 3000)})
			} else {
				data, _, err = appendReport(data, NewReport{Time: when, Directive: "D-1", Status: Info, Text: strings.Repeat("what? ", 2000)})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	small, full, watched, over := grown(150<<10), grown(200<<10), grown(222<<10), grown(250<<10)
	for _, c := range []struct {
		what     string
		old, new []byte
		want     int
	}{
		{"grows within", small, full, 0},
		{"grows beyond", full, over, 1},
		{"grows beyond from nothing readable", nil, over, 1},
		{"shrinks", over, full, 0},
		{"stays", over, over, 0},
		{"a little less, and too much", over, append(append([]byte{}, over[:len(over)-100]...), '\n'), 0},
	} {
		if ds := CheckRoom(c.old, c.new, MaxAnswers); len(ds) != c.want {
			t.Errorf("%s: %v", c.what, ds)
		}
	}
	if err := fitAnswers(full, MaxAnswers); err != nil {
		t.Error(err)
	}
	if err := fitAnswers(over, MaxAnswers); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if ds := CheckRoom(full, watched, MaxWatched); len(ds) > 0 || fitAnswers(watched, MaxWatched) != nil || fitAnswers(watched, MaxAnswers) == nil {
		t.Errorf("the watcher may report still: %v", ds)
	}
	if ds := CheckRoom(full, over, MaxWatched); len(ds) != 1 {
		t.Errorf("the watcher takes the PM's part: %v", ds)
	}
}

// TestSpare: who lists more directives than can have a report is told how many can.
func TestSpare(t *testing.T) {
	listing := func(n, size int) []byte {
		var b strings.Builder
		b.WriteString("# COMMS\n\n## Directives\n\n")
		for i := range n {
			fmt.Fprintf(&b, "### D-%d: x\n\n%s\n\n- [ ] y (`true`)\n\n", i+1, strings.Repeat("x", size))
		}
		return []byte(b.String() + "## Reports\n")
	}
	few, many, long := listing(100, 10), listing(400, 10), listing(100, 2100)
	for _, c := range []struct {
		what     string
		old, new []byte
		want     string
	}{
		{"room for all", nil, few, ""},
		{"more of them than reports fit", few, many, "the 400 directives leave room for 384 reports"},
		{"long ones", few, long, "the 100 directives leave room for "},
		{"no more than before", many, many, ""},
		{"fewer", many, listing(390, 10), ""},
		{"the first version", nil, many, "the 400 directives"},
	} {
		ds := CheckSpare(c.old, c.new)
		if (len(ds) > 0) != (c.want != "") || len(ds) > 0 && (len(ds) != 1 || ds[0].IsError() || !strings.HasPrefix(ds[0].Message, c.want)) {
			t.Errorf("%s: %v", c.what, ds)
		}
	}
}
