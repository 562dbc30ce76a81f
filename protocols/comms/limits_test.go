package comms

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTooLargeIsNotParsed(t *testing.T) {
	data := []byte("# COMMS\n" + strings.Repeat("### D-1: x\n", 50_000_000/11))
	allocs := testing.AllocsPerRun(3, func() {
		doc, ds := Parse(data)
		matches(t, ds, []string{"0:0 comms/size: at most 262144"})
		if len(doc.Directives) != 0 || doc.Open() != nil {
			t.Error("it was parsed")
		}
	})
	if allocs > 100 {
		t.Errorf("%v allocations", allocs)
	}
	if _, err := parseSound(data); err != ErrFull {
		t.Error(err)
	}
	if ds := CheckAgentChange(data, data[:len(data)-1], nil); len(ds) != 1 {
		t.Error(ds)
	}
}

// hostile is documents of about n bytes that make some part of the work large.
func hostile(n int) map[string]string {
	const d, r = "# COMMS\n## Directives\n### D-1: x\n- [ ] y\n", "# COMMS\n## Directives\n## Reports\n"
	fill := func(head, unit string) string { return head + strings.Repeat(unit, max(0, n-len(head))/len(unit)) }
	var distinct strings.Builder
	distinct.WriteString(r)
	for i := 1; distinct.Len() < n-40; i++ {
		fmt.Fprintf(&distinct, "### R-%d 2026-11-21T09:00:00Z D-%d DONE\n", i, i)
	}
	return map[string]string{
		"duplicate directives": fill(d, "### D-1: x\n"),
		"duplicate reports":    fill(r, "### R-1 2026-11-21T09:00:00Z - INFO\n"),
		"distinct reports":     distinct.String(),
		"sections":             fill(d, "## Directives\n"),
		"unknown sections":     fill(d, "## Direkt\n"),
		"continuation":         fill(d, "  x\n"),
		"criteria":             fill(d, "- [ ] `\n"),
		"unknown keys":         fill(d, "- max_total_second: x\n"),
		"a long key":           fill(d+"- rung: ", "x"),
		"commas":               fill(d+"- frozen: ", ","),
		"brackets":             fill(d+"- frozen: ", "["),
		"certificates":         fill(d+"- certificates: ", "EXACT,"),
		"backticks":            fill(d+"- [ ] ", "`"),
		"hashes":               fill(d, "###\n"),
		"one line":             fill(d, "#"),
		"spaces":               fill(d, " "),
		"blank lines":          fill(d, "\n"),
		"control":              fill(d, "\x00\n"),
		"not UTF-8":            fill(d, "\xff"),
		"CRLF":                 fill(d, "\r\n"),
		"heading words":        fill(r+"### R-1", " x"),
		"hash lines":           fill(r+"### R-1 2026-11-21T09:00:00Z - INFO\n", "Directive: 0\n"),
		"leading blanks":       fill(r+"### R-1 2026-11-21T09:00:00Z - INFO", "\n \t"),
	}
}

// work is the cheapest of some runs of all that reads a document, in processor time,
// which other programs do not add to.
func work(src string) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpu := func() time.Duration {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_THREAD, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	data := []byte(src)
	other := append(append([]byte{}, data...), "x\n"...)
	best := time.Hour
	for range 2 {
		start := cpu()
		doc, _ := Parse(data)
		doc.Open()
		CheckAgentChange(data, other, []Range{{1, MaxID}})
		CheckUpdate(data, other, Set{})
		best = min(best, cpu()-start)
	}
	return best
}

// Eight times the input may cost four times eight times the work: enough for
// noise, and far from the sixty-four of quadratic work.
func TestLinear(t *testing.T) {
	small, full := hostile(MaxBytes/8), hostile(MaxBytes)
	for name := range full {
		t.Run(name, func(t *testing.T) {
			_, ds := Parse([]byte(full[name]))
			checkPositions(t, []byte(full[name]), ds)
			for try := range 3 {
				// The floor keeps the clock's grain and the collector out of it.
				a, b := max(work(small[name]), 2*time.Millisecond), work(full[name])
				if b <= 32*a {
					return
				}
				t.Logf("try %d: %d bytes took %v, %d bytes %v", try, len(small[name]), a, len(full[name]), b)
			}
			t.Error("not linear")
		})
	}
}
