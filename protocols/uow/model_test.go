package uow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
)

// lifecycle is UOW-1 as the specification writes it: the reference that the
// machine's events are held to. Breach is added for every state but itself.
const lifecycle = `
PENDING->ACTIVE|PAUSED|FAILED|PENDING
ACTIVE->PENDING_PILOT_APPROVAL|PAUSED|ZOMBIED_SOFT|ZOMBIED_DEAD|COMPLETED|FAILED|ACTIVE
PENDING_PILOT_APPROVAL->ACTIVE|FAILED
PAUSED->ACTIVE|FAILED|PAUSED
ZOMBIED_SOFT->ACTIVE|ZOMBIED_DEAD
ZOMBIED_DEAD->FAILED|REFINEMENT_ANALYSIS
COMPLETED->REFINEMENT_ANALYSIS
FAILED->REFINEMENT_ANALYSIS
FAILED_SECURITY_BREACH->REFINEMENT_ANALYSIS
REFINEMENT_ANALYSIS->ARCHIVED
ARCHIVED->ARCHIVED`

func arrows() map[string]bool {
	set := map[string]bool{}
	for line := range strings.FieldsSeq(lifecycle) {
		from, to, _ := strings.Cut(line, "->")
		for t := range strings.SplitSeq(to, "|") {
			set[from+" "+t] = true
		}
	}
	for _, s := range States() {
		if s != Breached {
			set[string(s)+" "+string(Breached)] = true
		}
	}
	return set
}

func TestMachineIsTheSpecification(t *testing.T) {
	want, have := arrows(), map[string]bool{}
	for _, tr := range Machine().Transitions {
		have[tr.From+" "+tr.To] = true
		if len(actors(Event(tr.On))) == 0 {
			t.Errorf("nobody may make %s", tr.On)
		}
	}
	for a := range want {
		if !have[a] {
			t.Errorf("%s is missing", a)
		}
	}
	for a := range have {
		if !want[a] {
			t.Errorf("%s is too much", a)
		}
	}
	text, _ := fsm.Source(fsm.UOW)
	for e := range reasons {
		if !e.opens() && !strings.Contains(text, `"on": "`+string(e)+`"`) {
			t.Errorf("%s leads nowhere", e)
		}
	}
}

// A remark is the PM's and leads nowhere; a step that was the PM's and made the unit
// ACTIVE is none, nor is one of the agent's.
func TestRemarks(t *testing.T) {
	for e, want := range map[Event]bool{
		Heartbeat: true, Clarify: true, Resume: false, Approve: false, Retry: false, Activate: false, Iterate: false, MakeClaim: false, Cancel: false,
	} {
		if got := (&Record{Event: e, State: Active}).Remark(); got != want {
			t.Errorf("%s: %v", e, got)
		}
	}
}

const (
	hashA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	hashB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// allEvents, sorted, so that rapid draws the same from the same seed.
func allEvents() []Event {
	var list []Event
	for e := range reasons {
		list = append(list, e)
	}
	slices.Sort(list)
	return list
}

// life is one directive's units under random steps, and what a naive reference
// counts beside them.
type life struct {
	t      *rapid.T
	units  [][]*Record
	policy Policy
	main   Main
	good   map[string]bool   // commits with a verdict
	spent  map[string]Counts // by directive text, counted one by one
}

func (l *life) last() *Record {
	if len(l.units) == 0 {
		return nil
	}
	u := l.units[len(l.units)-1]
	return u[len(u)-1]
}

// world is what a host would compute: the spending from the journals.
func (l *life) world(opening bool) World {
	m := l.main
	m.Spent = Spent(m.DirectiveHash, l.units...)
	w := World{Main: &m, Verdict: func(c string) bool { return l.good[c] }}
	if opening {
		w.Last = l.last()
	}
	return w
}

func (l *life) draw(e Event) Input {
	a := rapid.SampledFrom([]Actor{Agent, PM, Host}).Draw(l.t, "actor")
	if may := actors(e); rapid.IntRange(0, 9).Draw(l.t, "right") > 0 {
		a = rapid.SampledFrom(may).Draw(l.t, "who")
	}
	in := Input{Event: e, Actor: a, Time: noon.Add(time.Duration(rapid.IntRange(-9999, 9999).Draw(l.t, "clock")) * time.Second)}
	in.Reason = "NO_SUCH_CODE"
	if codes := reasons[e][a]; len(codes) > 0 {
		in.Reason = rapid.SampledFrom(codes).Draw(l.t, "code")
	}
	if a == Agent {
		in.Interactions = int64(rapid.IntRange(-1, 9).Draw(l.t, "calls"))
	}
	if e == Clarify {
		in.Note = rapid.SampledFrom([]string{"", "use the second parser"}).Draw(l.t, "note")
		in.Interactions = 0
	}
	if e == Expire || rapid.IntRange(0, 99).Draw(l.t, "expired") == 0 {
		in.Expired = &Expired{Record: strings.Repeat("e", 40)}
	}
	if e == MakeClaim {
		in.Commit = rapid.SampledFrom([]string{strings.Repeat("c", 40), strings.Repeat("d", 40)}).Draw(l.t, "commit")
		if rapid.IntRange(0, 19).Draw(l.t, "record") > 0 {
			in.Record = strings.Repeat("e", 40)
		}
	}
	return in
}

func (l *life) step() {
	e := rapid.SampledFrom(allEvents()).Draw(l.t, "event")
	if prev := l.last(); prev != nil && !e.opens() && rapid.IntRange(0, 3).Draw(l.t, "legal") > 0 {
		if on := Machine().Expects(string(prev.State)); len(on) > 0 { // mostly legal, or the walk gets nowhere
			e = Event(rapid.SampledFrom(on).Draw(l.t, "on"))
		}
	}
	if e == Breach && rapid.IntRange(0, 9).Draw(l.t, "breach") > 0 {
		return
	}
	in := l.draw(e)
	prev, id := l.last(), ID{"D-1", max(1, len(l.units))}
	if e.opens() {
		prev, id.K = nil, len(l.units)+1
	}
	w := l.world(e.opens())
	r, found := Advance(id, prev, in, w)
	if (r == nil) == (len(found) == 0) {
		l.t.Fatalf("record %v, findings %v", r, found)
	}
	if r == nil {
		for _, d := range found {
			if d.Message == "" || d.Hint == "" || !strings.HasPrefix(d.Rule, "uow/") {
				l.t.Fatalf("incomplete: %+v", d)
			}
		}
		return
	}
	l.check(prev, r, in)
	if found := Step(prev, r, w); len(found) > 0 {
		l.t.Fatalf("Advance made what Step refuses: %v", found)
	}
	if prev == nil {
		l.units = append(l.units, nil)
	}
	u := &l.units[len(l.units)-1]
	*u = append(*u, r)
}

// check is the naive reference.
func (l *life) check(prev, r *Record, in Input) {
	t := l.t
	if prev != nil && !arrows()[string(prev.State)+" "+string(r.State)] {
		t.Fatalf("%s -> %s", prev.State, r.State)
	}
	if r.State == Completed && r.Event == Complete && !l.good[r.Claim.Commit] {
		t.Fatal("complete without a verdict")
	}
	if prev != nil && (in.Event == Iterate || in.Event == MakeClaim) {
		if prev.State != Active || l.policy.PilotPulse > 0 && prev.Pulse >= prev.Policy.PilotPulse || r.DirectiveHash != l.main.DirectiveHash {
			t.Fatalf("work while %s, pulse %d", prev.State, prev.Pulse)
		}
	}
	if free := in.Reason == CauseGone && prev.ReasonCode.Free(); in.Event == Retry && !free && prev.Retries >= prev.Policy.MaxRetries {
		t.Fatal("one retry too many")
	}
	if r.State == Active && r.Actor == Agent && in.Reason == DirectiveEdited && prev.DirectiveHash == l.main.DirectiveHash {
		t.Fatal("the agent approved itself")
	}
	s := l.spent[r.DirectiveHash]
	if in.Actor == Agent {
		s.Pushes++
	}
	if in.Event == Iterate {
		s.Iterations++
	}
	if in.Event == MakeClaim {
		s.Claims++
	}
	l.spent[r.DirectiveHash] = s
	if r.Budget.Spent != s {
		t.Fatalf("the ledger says %+v, the reference %+v", r.Budget.Spent, s)
	}
	if s.Iterations > l.main.Total.Iterations || s.Claims > l.main.Total.Claims {
		t.Fatalf("beyond the budget: %+v of %+v", s, l.main.Total)
	}
	if s.Pushes > l.main.Total.Pushes && !r.State.Ended() {
		t.Fatalf("%s beyond %d pushes", in.Event, l.main.Total.Pushes)
	}
}

// TestLives: whatever sequence of steps is tried, budgets hold over all units of
// a directive's text, nothing completes without a verdict, and the journals that
// result validate by themselves.
func TestLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{t: t, good: map[string]bool{}, spent: map[string]Counts{}, policy: DefaultPolicy()}
		l.policy.PilotPulse, l.policy.MaxRetries, l.policy.MaxInteractions = int64(rapid.IntRange(0, 9).Draw(t, "pulse")), 2, 20
		l.main = Main{DirectiveHash: hashA, Total: Totals(int64(rapid.IntRange(1, 4).Draw(t, "iterations"))), Policy: l.policy}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			switch rapid.IntRange(0, 40).Draw(t, "aside") {
			case 0:
				l.main.DirectiveHash = rapid.SampledFrom([]string{hashA, hashB}).Draw(t, "edit")
			case 1:
				l.good[strings.Repeat("c", 40)] = true
			}
			l.step()
		}
		for i, records := range l.units {
			var files [][]byte
			for _, r := range records {
				data, err := r.Marshal()
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, data)
			}
			if _, found := Validate(ID{"D-1", i + 1}, files); len(found) > 0 {
				t.Fatalf("unit %d: %v", i+1, found)
			}
		}
		if found := CheckLedgers(l.units...); len(found) > 0 {
			t.Fatal(found)
		}
	})
}

// journal is a unit with two iterations, a claim and a completion.
func journal(t *testing.T) (records []*Record, files [][]byte) {
	t.Helper()
	main := &Main{DirectiveHash: hashA, Total: Totals(3), Policy: DefaultPolicy()}
	var prev *Record
	for i, in := range []Input{
		{Event: Open, Actor: Agent, Reason: "DIRECTIVE_OPEN"},
		{Event: Activate, Actor: Agent, Reason: "WORK_STARTED"},
		{Event: Iterate, Actor: Agent, Reason: "ITERATION_STARTED"},
		{Event: MakeClaim, Actor: Agent, Reason: "WORK_CLAIMED", Commit: strings.Repeat("c", 40), Record: strings.Repeat("e", 40), Interactions: 7},
		{Event: Heartbeat, Actor: PM, Reason: "PULSE_ACKNOWLEDGED", Note: "go on, it's fine: < > & \u2028 ü"},
		{Event: Complete, Actor: Agent, Reason: "LOOP_CONVERGED"},
		{Event: Refine, Actor: Agent, Reason: "ANALYSIS_STARTED"},
		{Event: Archive, Actor: PM, Reason: "AUDIT_RETENTION"},
	} {
		in.Time = noon.Add(time.Duration(i) * time.Minute)
		if strings.ContainsRune(in.Note, '\u2028') {
			in.Note = "go on, it's fine: < > & ü"
		}
		r, found := Advance(ID{"D-1", 1}, prev, in, World{Main: main, Verdict: func(string) bool { return true }})
		if len(found) > 0 {
			t.Fatal(found)
		}
		data, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		records, files, prev = append(records, r), append(files, data), r
	}
	return records, files
}

// TestTamperAtAnyByte: no byte of any record can change, go or come unseen, and no
// record can be swapped, doubled or left out.
func TestTamperAtAnyByte(t *testing.T) {
	id := ID{"D-1", 1}
	records, files := journal(t)
	if got, found := Validate(id, files); len(found) > 0 || len(got) != len(files) {
		t.Fatal(found)
	}
	for i, data := range files {
		for at := range data {
			for _, changed := range [][]byte{
				flipped(data, at, 0x01), flipped(data, at, 0x20), slices.Delete(slices.Clone(data), at, at+1),
				slices.Insert(slices.Clone(data), at, ' '),
			} {
				if string(changed) == string(data) {
					continue
				}
				var prev *Record
				if i > 0 {
					prev = records[i-1]
				}
				if _, _, err := Tampered(prev, changed); err == nil {
					t.Fatalf("record %d, byte %d: %s", i, at, changed)
				}
			}
		}
		if i+1 < len(files) {
			swapped := slices.Clone(files)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			for name, broken := range map[string][][]byte{"swapped": swapped, "gone": slices.Delete(slices.Clone(files), i, i+1), "twice": slices.Insert(slices.Clone(files), i, data)} {
				if _, found := Validate(id, broken); len(found) == 0 {
					t.Errorf("record %d %s", i, name)
				}
			}
		}
	}
	if _, found := Validate(ID{"D-2", 1}, files); len(found) == 0 {
		t.Error("a journal replayed under another directive")
	}
	// Even one who computes the hashes anew cannot change what follows from the rest.
	for name, change := range map[string]func(*Record){
		"iteration": func(r *Record) { r.Iteration = 0 }, "spent": func(r *Record) { r.Budget.Spent.Pushes-- },
		"state": func(r *Record) { r.State = Active }, "actor": func(r *Record) { r.Actor = PM },
		"retries": func(r *Record) { r.Retries = 7 }, "policy": func(r *Record) { r.Policy.MaxRetries = 99 },
		"total": func(r *Record) { r.Budget.Total.Iterations = 99 }, "claim": func(r *Record) { r.Claim = nil },
		"parent": func(r *Record) { r.Parent = "D-1.0" }, "pulse": func(r *Record) { r.Pulse = 1 << 30 },
	} {
		last := len(records) - 2
		forged := *records[last]
		change(&forged)
		if err := forged.Seal(); err != nil {
			t.Fatal(err)
		}
		data, err := forged.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		broken := append(slices.Clone(files[:last]), data)
		if _, found := Validate(id, broken); len(found) == 0 {
			t.Errorf("%s was forged unseen", name)
		}
	}
}

func flipped(data []byte, at int, bits byte) []byte {
	changed := slices.Clone(data)
	changed[at] ^= bits
	return changed
}

// FuzzParseRecord: a record that parses is printed as it was read.
func FuzzParseRecord(f *testing.F) {
	_, files := journal(&testing.T{})
	for _, data := range files {
		f.Add(data)
	}
	f.Add([]byte(`{"id":"D-1.1"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseRecord(data)
		if err != nil {
			return
		}
		again, err := r.Marshal()
		if err != nil || string(again) != string(data) {
			t.Fatalf("%s\n%s\n%v", data, again, err)
		}
		Step(nil, r, World{})
		StepAlone(ID{"D-1", 1}, nil, r)
	})
}

func ExampleAdvance() {
	main := &Main{DirectiveHash: hashA, Total: Totals(1), Policy: DefaultPolicy()}
	id := ID{"D-1", 1}
	open, _ := Advance(id, nil, Input{Event: Open, Actor: Agent, Reason: "DIRECTIVE_OPEN", Time: noon}, World{Main: main})
	_, found := Advance(id, open, Input{Event: Iterate, Actor: Agent, Reason: "ITERATION_STARTED", Time: noon}, World{Main: main})
	fmt.Println(open.State, found[0].Rule+":", found[0].Message)
	// Output: PENDING uow/transition: the unit is PENDING: iterate does not lead anywhere from there
}

// A record of another layout is none that this version reads, and a claim names a commit of
// the unit's record.
func TestLayout(t *testing.T) {
	world := World{alone: true, Main: &Main{DirectiveHash: strings.Repeat("a", 64), Total: Totals(3), Policy: DefaultPolicy()}}
	var prev *Record
	var found []diag.Diagnostic
	for _, in := range []Input{{Event: Open, Reason: "DIRECTIVE_OPEN"}, {Event: Activate, Reason: "WORK_STARTED"}, {Event: Iterate, Reason: "ITERATION_STARTED"}} {
		in.Actor, in.Time = Agent, time.Unix(0, 0)
		if prev, found = Advance(ID{"D-1", 1}, prev, in, world); len(found) > 0 || prev.Layout != Layout {
			t.Fatal(prev, found)
		}
	}
	claim := Input{Event: MakeClaim, Reason: "WORK_CLAIMED", Actor: Agent, Time: time.Unix(0, 0), Commit: strings.Repeat("1", 40)}
	if _, found := Advance(ID{"D-1", 1}, prev, claim, world); len(found) == 0 || found[0].Rule != "uow/claim" {
		t.Error(found)
	}
	for _, layout := range []int64{0, 1, 3} {
		other := *prev
		other.Layout = layout
		if err := other.Seal(); err != nil {
			t.Fatal(err)
		}
		data, err := other.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseRecord(data); err == nil {
			t.Errorf("layout %d is read", layout)
		}
	}
}
