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
	longest                        time.Duration
	open                           []string
}

func (c *tally) count(t *testing.T, m turing, text string, halts bool) {
	start := time.Now()
	r := Analyze(t.Context(), parse(t, text), Options{Calls: tools, Steps: 2_000_000})
	c.longest = max(c.longest, time.Since(start))
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

// TestSampleOfFourStates takes 1,000 machines in each spelling.
func TestSampleOfFourStates(t *testing.T) {
	refuse(t)
	for style := range styles {
		var c tally
		random := rand.New(rand.NewSource(4))
		sample(4, 1000, random, func(m turing, halts bool) { c.count(t, m, m.encode(style, random), halts) })
		if c.decided != c.total {
			t.Errorf("style %d, undecided: %v", style, c.open)
		}
	}
}

// TestBenchMachines is the table of issue 4: all machines of 2, 3 and 4 states,
// and samples of more.
func TestBenchMachines(t *testing.T) {
	if os.Getenv("WARD_BENCH") == "" {
		t.Skip("a measurement: scripts/bench runs it")
	}
	refuse(t)
	show := func(what string, c *tally, took time.Duration) {
		fmt.Printf("BENCH\t%s: machines, halting, decided, wrong\t%d, %d, %d (%.4f %%), %d\t%.0f plans a second, longest %v\t-\n",
			what, c.total, c.halting, c.decided, 100*float64(c.decided)/float64(c.total), c.wrong, float64(c.total)/took.Seconds(), c.longest.Round(time.Millisecond))
		if len(c.open) > 0 {
			fmt.Printf("\tundecided: %.60v\n", c.open)
		}
	}
	for n := 2; n <= 4; n++ {
		var c tally
		start := time.Now()
		enumerate(n, func(m turing, halts bool) { c.count(t, m, m.encode(0, nil), halts) })
		show(fmt.Sprintf("all of %d states", n), &c, time.Since(start))
	}
	for style := 1; style < styles; style++ {
		var c tally
		random := rand.New(rand.NewSource(5))
		start := time.Now()
		sample(4, 20_000, random, func(m turing, halts bool) { c.count(t, m, m.encode(style, random), halts) })
		show(fmt.Sprintf("20,000 of 4 states, spelling %d", style), &c, time.Since(start))
	}
}
