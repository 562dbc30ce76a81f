package halting

import (
	"fmt"
	"math/rand"
	"os"
	"testing"
	"time"

	"git-ward/vm/asm"
	"git-ward/vm/halting/code"
)

var tools = []string{"print", "mul", "div", "mod", "min", "max"}

func parse(t testing.TB, text string) *asm.Program {
	t.Helper()
	p, ds := asm.Parse("plan.udc", []byte(text))
	if len(ds) > 0 {
		t.Fatalf("%v\n%s", ds, text)
	}
	return p
}

// refuse makes a proof that the checker rejects a failure: deciders that are
// wrong, or give too little.
func refuse(t *testing.T) {
	rejected = func(p code.Program, r *Report, err error) { t.Errorf("the checker rejects %q: %v", r.Reason, err) }
	t.Cleanup(func() { rejected = nil })
}

// tally counts verdicts on machines.
type tally struct {
	total, halting, decided, wrong int
	reading, analysing, longest    time.Duration
	open                           []string
}

func (c *tally) count(t *testing.T, m turing, text string, halts bool) {
	start := time.Now()
	p := parse(t, text)
	c.reading += time.Since(start)
	start = time.Now()
	r := Analyze(t.Context(), p, Options{Calls: tools, Steps: 2_000_000})
	took := time.Since(start)
	c.analysing += took
	c.longest = max(c.longest, took)
	c.total++
	if halts {
		c.halting++
	}
	switch r.Risk {
	case Low, High:
		c.decided++
		if (r.Risk == Low) != halts {
			c.wrong++
			t.Errorf("%v is %v (%s), and that is wrong:\n%s", m, r.Risk, r.Reason, text)
		}
	default:
		c.open = append(c.open, m.String())
	}
}

func TestAllSmallMachines(t *testing.T) {
	refuse(t)
	for n := 2; n <= 3; n++ {
		for style := range styles {
			if n == 3 && testing.Short() && style > 0 {
				continue
			}
			var c tally
			random := rand.New(rand.NewSource(1))
			start := time.Now()
			enumerate(n, func(m turing, halts bool) {
				if n == 3 && style > 0 && c.total%8 != 0 {
					c.total++
					c.decided++
					return
				}
				c.count(t, m, m.encode(style, random), halts)
			})
			t.Logf("%d states, style %d: %d machines, %d halt, %d decided, %d wrong, %v, longest %v", n, style, c.total, c.halting, c.decided, c.wrong, time.Since(start), c.longest)
			if c.decided != c.total {
				t.Errorf("undecided: %v", c.open)
			}
		}
	}
}

// TestSampleOfFourStates takes machines in each spelling.
func TestSampleOfFourStates(t *testing.T) {
	refuse(t)
	for style := range styles {
		var c tally
		random := rand.New(rand.NewSource(4))
		see := func(m turing, halts bool) { c.count(t, m, m.encode(style, random), halts) }
		sample(4, 800, random, see)
		wild(4, 800, random, see)
		if c.decided != c.total {
			t.Errorf("style %d, undecided: %v", style, c.open)
		}
	}
}

// TestBenchMachines is the table of issue 4: all machines of 2 and 3 states, and
// samples of those of 4 in each spelling; all of 4 states with WARD_BENCH=all.
// The baseline is reading the same plans.
func TestBenchMachines(t *testing.T) {
	bench := os.Getenv("WARD_BENCH")
	if bench == "" {
		t.Skip("a measurement: scripts/bench runs it")
	}
	refuse(t)
	most := 3
	if bench == "all" {
		most = 4
	}
	for n := 2; n <= most; n++ {
		var c tally
		enumerate(n, func(m turing, halts bool) { c.count(t, m, m.encode(0, nil), halts) })
		c.row(fmt.Sprintf("all machines of %d states", n))
	}
	for style := range styles {
		var c tally
		random := rand.New(rand.NewSource(5))
		see := func(m turing, halts bool) { c.count(t, m, m.encode(style, random), halts) }
		sample(4, 5_000, random, see)
		wild(4, 10_000, random, see)
		c.row(fmt.Sprintf("machines of 4 states, spelling %d", style))
	}
}

func (c *tally) row(what string) {
	speed := func(d time.Duration) float64 { return float64(c.total) / d.Seconds() }
	fmt.Printf("BENCH\tanalyse %s: %d, %d halt, %d decided (%.3f %%), %d wrong, longest %v\t%.0f plans/s\treading them: %.0f plans/s\t%.2f\n",
		what, c.total, c.halting, c.decided, 100*float64(c.decided)/float64(c.total), c.wrong, c.longest.Round(time.Millisecond),
		speed(c.analysing), speed(c.reading), c.analysing.Seconds()/c.reading.Seconds())
	if len(c.open) > 0 {
		fmt.Printf("undecided: %v\n", c.open[:min(20, len(c.open))])
	}
}
