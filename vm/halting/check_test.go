package halting

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	strict "github.com/go-json-experiment/json"

	"git-ward/vm"
	"git-ward/vm/asm"
	"git-ward/vm/halting/proof"
)

// proofs are verdicts with their plans: the table's, and machines of 3 states.
func proofs(t *testing.T, visit func(text string, p *asm.Program, o Options, r Report)) {
	o := Options{Calls: tools, Steps: 1_000_000}
	see := func(text string) {
		p := parse(t, text)
		if r := Analyze(t.Context(), p, o); r.Proof != nil {
			visit(text, p, o, r)
		}
	}
	for _, v := range verdicts {
		see(v.text)
	}
	random := rand.New(rand.NewSource(7))
	sample(3, 60, random, func(m turing, _ bool) { see(m.encode(random.Intn(styles), random)) })
	for _, s := range []string{"0RB0LA_1LA1RC_1RB---", "1RB---_0LC0RB_1LC1LA", "1RB0LC_1LB1RA_---1LA"} {
		see(parseMachine(s).encode(0, nil)) // these need histories
	}
}

// parseMachine reads what turing.String writes.
func parseMachine(s string) (m turing) {
	for i := 0; i+7 <= len(s)+1; i += 7 {
		var row [2]rule
		for y := range row {
			w := s[i+3*y:]
			row[y] = rule{int(w[0] - '0'), 1, int(w[2]) - 'A'}
			switch w[1] {
			case 'L':
				row[y].dir = -1
			case '-':
				row[y] = rule{next: -1}
			}
		}
		m = append(m, row)
	}
	return m
}

// mutants calls visit with every proof that differs from p in one place of its
// JSON: a number one more or less, a list without one of its elements.
func mutants(t *testing.T, p *proof.Proof, most int, random *rand.Rand, visit func(where string, q *proof.Proof)) {
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	type edit struct {
		where string
		data  []byte
	}
	var edits []edit
	var root any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	take := func(where string) {
		data, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		edits = append(edits, edit{where, data})
	}
	var places []func()
	var walk func(where string, v any, set func(any))
	walk = func(where string, v any, set func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(where+"."+k, v[k], func(x any) { v[k] = x })
			}
		case []any:
			for i := range v {
				walk(where+"[]", v[i], func(x any) { v[i] = x })
				places = append(places, func() {
					set(slices.Delete(slices.Clone(v), i, i+1))
					take(where + " less one")
					set(v)
				})
			}
		case json.Number:
			for _, by := range []int64{-1, 1} {
				places = append(places, func() {
					n, _ := v.Int64()
					set(json.Number(fmt.Sprint(n + by)))
					take(where)
					set(v)
				})
			}
		}
	}
	walk("", root, func(any) {})
	random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, place := range places[:min(most, len(places))] {
		place()
	}
	for _, e := range edits {
		var q proof.Proof
		if strict.Unmarshal(e.data, &q) == nil {
			visit(e.where, &q)
		}
	}
}

// TestMutatedProofs: a proof with a fault is refused, unless it still proves
// what it claims; then the claim must be the true one.
func TestMutatedProofs(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	accepted, refused := map[string]int{}, map[string]int{}
	proofs(t, func(text string, p *asm.Program, o Options, r Report) {
		flat := Flat(p, o)
		mutants(t, r.Proof, 150, random, func(where string, q *proof.Proof) {
			if proof.Check(t.Context(), flat, q, o.Limits()) != nil {
				refused[where]++
				return
			}
			accepted[where]++
			if q.Claim != r.Proof.Claim {
				t.Errorf("%s: accepted for %q:\n%s", where, q.Claim, text)
			}
		})
	})
	// A wider bound or a later start may prove as much; these may not.
	for _, where := range []string{".run.steps", ".cycle.shift", ".language.views[][]", ".language.views less one", ".language.words[][]",
		".language.right less one", ".invariant.nodes less one", ".invariant.nodes[].ip"} {
		if accepted[where]*20 > refused[where] || refused[where] == 0 {
			t.Errorf("%s: %d faults were accepted, %d refused", where, accepted[where], refused[where])
		}
	}
	t.Log("accepted", accepted)
	t.Log("refused", refused)
}

// TestFalseClaims: no proof passes for another claim, or for another plan unless
// that behaves so too.
func TestFalseClaims(t *testing.T) {
	type entry struct {
		text string
		p    *asm.Program
		o    Options
		r    Report
	}
	var all []entry
	proofs(t, func(text string, p *asm.Program, o Options, r Report) { all = append(all, entry{text, p, o, r}) })
	for _, e := range all {
		for _, claim := range []proof.Claim{proof.Halts, proof.Never, proof.Overflow, ""} {
			q := *e.r.Proof
			if q.Claim = claim; claim == e.r.Proof.Claim || claim == proof.Overflow && e.r.Proof.Claim == proof.Never {
				continue // what never ends is not left but by overflow either
			}
			if proof.Check(t.Context(), Flat(e.p, e.o), &q, e.o.Limits()) == nil {
				t.Errorf("a proof of %q passes for %q:\n%s", e.r.Proof.Claim, claim, e.text)
			}
		}
		for _, f := range all {
			q := *e.r.Proof
			flat := Flat(f.p, f.o)
			if proof.Check(t.Context(), flat, &q, f.o.Limits()) == nil && q.Program != f.r.Proof.Program {
				t.Errorf("a proof passes for another plan:\n%s\n%s", e.text, f.text)
			}
			q.Program = proof.Fingerprint(flat)
			if proof.Check(t.Context(), flat, &q, f.o.Limits()) == nil && (q.Claim == proof.Halts) != (f.r.Proof.Claim == proof.Halts) {
				t.Errorf("the proof of %q passes for a plan of which %q is proved:\n%s\n%s", q.Claim, f.r.Proof.Claim, e.text, f.text)
			}
		}
	}
}

// FuzzCheck: the checker is bounded, never panics, and what it accepts is so.
func FuzzCheck(f *testing.F) {
	o := Options{Calls: tools, Steps: 20_000}
	for _, v := range verdicts {
		p, _ := asm.Parse("p", []byte(v.text))
		if r := Analyze(context.Background(), p, o); r.Proof != nil {
			data, _ := json.Marshal(r.Proof)
			f.Add([]byte(v.text), data)
		}
	}
	f.Fuzz(func(t *testing.T, text, data []byte) {
		p, ds := asm.Parse("p", text)
		var q proof.Proof
		if len(ds) > 0 || json.Unmarshal(data, &q) != nil {
			return
		}
		flat := Flat(p, o)
		q.Program = proof.Fingerprint(flat)
		if proof.Check(context.Background(), flat, &q, proof.Limits{Steps: 200_000, Entries: 5_000, Cells: 10_000}) != nil {
			return
		}
		run := outcomeOf(t, p, nil, 100_000)
		if ended := run.State != vm.Timeout; ended && (q.Claim == proof.Never || q.Claim == proof.Overflow && run.Code != vm.IntegerOverflow) {
			t.Errorf("accepted %s, and it ends with %q", data, run.Code)
		}
	})
}

// FuzzAnalyze: no plan makes the analysis panic or go wrong.
func FuzzAnalyze(f *testing.F) {
	for _, v := range verdicts {
		f.Add([]byte(v.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, ds := asm.Parse("p", text)
		if len(ds) > 0 {
			return
		}
		r := Analyze(context.Background(), p, Options{Calls: tools, Steps: 20_000})
		agree(t, string(text), r, outcomeOf(t, p, nil, 100_000))
	})
}

// TestSameReport: an analysis that is repeated gives the same bytes.
func TestSameReport(t *testing.T) {
	proofs(t, func(text string, p *asm.Program, o Options, r Report) {
		first, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := json.Marshal(Analyze(t.Context(), p, o)); !bytes.Equal(first, again) {
			t.Errorf("two reports differ:\n%s\n%s\n%s", text, first, again)
		}
	})
}
