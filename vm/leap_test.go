package vm

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// turing is a random Turing machine as a plan, with some noise that leaps must
// not lose: counters, prints, calls, moves by two, flags that outlive their CMP.
func turing(r *rand.Rand) string {
	var b strings.Builder
	// A tape to begin with: leaps are within its range only.
	b.WriteString("MOV R1 300\nLABEL w\nWRITE 1\nRIGHT\nDEC R1\nCMP R1 0\nJNE w\nMOV R1 150\nLABEL b\nLEFT\nDEC R1\nCMP R1 0\nJNE b\n")
	states, symbols := 2+r.IntN(5), 2+r.IntN(2)
	for s := range states {
		fmt.Fprintf(&b, "LABEL s%d\n", s)
		noise(&b, r)
		b.WriteString("READ R0\n")
		for v := range symbols {
			fmt.Fprintf(&b, "CMP R0 %d\nJNE s%d-%d\n", v, s, v)
			if r.IntN(8) > 0 {
				fmt.Fprintf(&b, "WRITE %d\n", r.IntN(symbols))
			}
			b.WriteString([]string{"LEFT\n", "RIGHT\n", "RIGHT\n", "LEFT\n", "LEFT\nLEFT\n", "RIGHT\nRIGHT\nRIGHT\n"}[r.IntN(6)])
			if r.IntN(states*symbols*3) == 0 {
				b.WriteString("HALT\n")
			}
			fmt.Fprintf(&b, "JMP s%d\nLABEL s%d-%d\n", r.IntN(states), s, v)
		}
		b.WriteString("JMP s0\n")
	}
	return b.String()
}

func noise(b *strings.Builder, r *rand.Rand) {
	switch r.IntN(60) {
	case 0:
		b.WriteString("INC R1\n")
	case 1:
		b.WriteString("CALL print R0\n")
	case 2:
		b.WriteString("CALL plan sub\n")
	case 3:
		b.WriteString("MOV R2 R0\nADD R3 R2\n")
	case 4:
		b.WriteString("JG s0\n")
	case 5:
		b.WriteString("INC R1\nCMP R1 300\nJL s1\nMOV R1 0\n")
	}
}

// TestLeapsAgree: a run by leaps is the run step by step, at any limit.
func TestLeapsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	sub := shelf{"sub": parse(t, "sub", "INC R3\nCMP R3 900\nJL back\nMOV R3 0\nLABEL back\nRET")}
	leapt := 0
	for i := range 800 {
		src := turing(r)
		p := parse(t, "machine", src)
		image, err := Link(p, sub)
		if err != nil {
			t.Fatal(err)
		}
		for _, most := range []int64{1000 + r.Int64N(40_000), 80_000} {
			limits := Limits{most, 320 + r.Int64N(3000), time.Hour, 1 << 12}
			one, _ := New(image, limits, ToolNames())
			for one.state == Running {
				one.Step()
			}
			m, _ := New(image, limits, ToolNames())
			m.leaper = newLeaper()
			for m.state == Running {
				m.advance(1 + r.Int64N(most))
			}
			if got, want := m.Result(), one.Result(); !reflect.DeepEqual(got, want) {
				got.Output, want.Output = got.Output[:min(9, len(got.Output))], want.Output[:min(9, len(want.Output))]
				t.Fatalf("machine %d, %+v\n got %+v\nwant %+v\n%s", i, limits, got, want, src)
			}
			if m.leaper.known > 0 {
				leapt++
			}
		}
	}
	if leapt < 300 {
		t.Errorf("only %d runs learnt a leap", leapt)
	}
}

// TestLeapsForget: with more to remember than there is room for, a run goes on.
func TestLeapsForget(t *testing.T) {
	// A counter in cell 0 that grows for ever: no block is the same twice.
	p := parse(t, "p", "LABEL a\nREAD R0\nINC R0\nWRITE R0\nMOV R1 70\nLABEL out\nRIGHT\nWRITE R0\nDEC R1\nCMP R1 0\nJNE out\nMOV R1 70\nLABEL home\nLEFT\nDEC R1\nCMP R1 0\nJNE home\nJMP a")
	image, _ := Link(p, nil)
	limits := Limits{3_000_000, 1000, time.Hour, 1}
	m, _ := New(image, limits, nil)
	m.leaper = newLeaper()
	for m.state == Running {
		m.leaper.next = m.count // always try
		m.advance(1 << 12)
	}
	one, _ := New(image, limits, nil)
	for one.state == Running {
		one.Step()
	}
	if !reflect.DeepEqual(m.Result(), one.Result()) || len(m.leaper.blocks) > maxKnown+1 {
		t.Errorf("%d blocks\n got %.300v\nwant %.300v", len(m.leaper.blocks), m.Result(), one.Result())
	}
}
