// Package benchtest has what all measurements share: tests named TestBench* that only
// scripts/bench runs, and the lines of the table that it collects. They assert nothing about
// time.
package benchtest

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Only skips the test unless scripts/bench asked for this measurement.
func Only(t testing.TB) {
	if os.Getenv("WARD_BENCH") == "" {
		t.Skip("a measurement: scripts/bench runs it")
	}
}

// Row prints a line of the table.
func Row(what, measured, baseline, ratio string) {
	fmt.Printf("BENCH\t%s\t%s\t%s\t%s\n", what, measured, baseline, ratio)
}

// Against prints a time next to that of a named baseline.
func Against(what string, took time.Duration, name string, base time.Duration) {
	Row(what, MS(took), name+" "+MS(base), Ratio(took, base))
}

// Timed is how long something took, and the processor time of the processes that it started and
// waited for, with all that those waited for.
func Timed(run func()) (took, used time.Duration) {
	before, start := processor(), time.Now()
	run()
	return time.Since(start), processor() - before
}

func processor() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Median is the middle value of a list.
func Median(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// MS formats a time in milliseconds, as the table shows it.
func MS(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// Ratio formats a time divided by its baseline.
func Ratio(took, base time.Duration) string {
	r := float64(took) / float64(base)
	if r < 0.1 {
		return fmt.Sprintf("%.4f", r)
	}
	return fmt.Sprintf("%.2f", r)
}
