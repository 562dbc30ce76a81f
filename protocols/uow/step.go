package uow

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/diag"
)

// Step checks a record that somebody else made after prev (nil: to open the unit). It must be the record
// that Advance makes of the same inputs. Without findings the unit is in the state of next. ParseRecord
// checks the record's own hash, and Tampered that it follows prev.
func Step(prev, next *Record, world World) []diag.Diagnostic {
	id, err := ParseID(next.ID)
	if err != nil {
		return []diag.Diagnostic{finding("form", "name the unit as its ref does", "%v", err)}
	}
	want, found := unsealed(id, prev, inputs(prev, next), world)
	if len(found) > 0 {
		return found
	}
	return differences(next, want)
}

func finding(rule, hint, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Pos: diag.Pos{Path: File}, Rule: "uow/" + rule, Severity: diag.Error, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// inputs reads back what the maker of a record must have stated.
func inputs(prev, next *Record) Input {
	in := Input{Event: next.Event, Actor: next.Actor, Reason: next.ReasonCode, Note: next.Note, Interactions: next.Interactions}
	in.Time, _ = time.Parse(timeLayout, next.Time)
	if prev != nil {
		in.Interactions -= prev.Interactions
	}
	if next.Event == Clarify {
		in.Interactions = next.Interactions
	}
	if next.Event == MakeClaim && next.Claim != nil {
		in.Commit, in.Record = next.Claim.Commit, next.Claim.Record
		in.keepRetries = prev != nil && prev.Retries == next.Retries
	}
	if next.Event == Expire {
		in.Expired = next.Expired
	}
	return in
}

// differences lists every member, except the hash, that differs from the expected record.
func differences(have, want *Record) []diag.Diagnostic {
	alike := *have
	alike.Hash = want.Hash
	if reflect.DeepEqual(&alike, want) { // most often
		return nil
	}
	a, errA := members(have)
	b, errB := members(want)
	if err := errors.Join(errA, errB); err != nil {
		return []diag.Diagnostic{finding("form", "make records with git ward uow or Ward's agent", "%v", err)}
	}
	delete(a, "hash") // follows from the others
	var names []string
	for name := range a {
		names = append(names, name)
	}
	for name := range b { // a member that is left out where it is empty
		if _, ok := a[name]; !ok && name != "hash" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var found []diag.Diagnostic
	for _, name := range names {
		if string(a[name]) != string(b[name]) {
			found = append(found, finding("record", "main and the record before it decide this; fetch and make the record again",
				"%q is %.200s where %.200s follows", name, a[name], b[name]))
		}
	}
	return found
}

func members(r *Record) (m map[string]jsontext.Value, err error) {
	data, err := r.Marshal()
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(data, &m)
}

// Tampered parses a record and reports whether it proves that the journal was changed: its own hash, or
// the hash of the record before it, is wrong (UOW-1). reason is "" for a valid record and for one that
// is merely malformed; err says what is wrong.
func Tampered(prev *Record, data []byte) (r *Record, reason Reason, err error) {
	r, err = ParseRecord(data)
	if errors.Is(err, ErrHash) {
		return nil, HashMismatch, err
	}
	if err != nil {
		return nil, "", err
	}
	want := ""
	if prev != nil {
		want = prev.Hash
	}
	if r.PrevHash != want {
		return nil, PrevMismatch, fmt.Errorf("prev_hash is %.12q, but the record before it has the hash %.12q", r.PrevHash, want)
	}
	return r, "", nil
}

// Validate checks a whole journal, oldest record first, by itself: hashes, steps, counters. It returns the
// records before the first invalid one, and the findings on that one. It trusts what the records say
// about main; CheckLedgers compares the sums.
func Validate(id ID, files [][]byte) (records []*Record, found []diag.Diagnostic) {
	var prev *Record
	for _, data := range files {
		r, _, err := Tampered(prev, data)
		if err != nil {
			return records, []diag.Diagnostic{finding("hash", "restore the journal from a clone that fetched it", "record %d: %v", len(records)+1, err)}
		}
		if found = StepAlone(id, prev, r); len(found) > 0 {
			for i := range found {
				found[i].Message = fmt.Sprintf("record %d: %s", len(records)+1, found[i].Message)
			}
			return records, found
		}
		records = append(records, r)
		prev = r
	}
	return records, nil
}

// StepAlone is Step without main: it trusts what the record says about main.
func StepAlone(id ID, prev, next *Record) []diag.Diagnostic {
	if next.ID != id.String() {
		return []diag.Diagnostic{finding("record", "push it to its own ref", "the record is of %s, the journal of %s", next.ID, id)}
	}
	c := cost(next.Event, next.Actor)
	spent := next.Budget.Spent
	main := &Main{DirectiveHash: next.DirectiveHash, Total: next.Budget.Total, Policy: next.Policy,
		Spent: Counts{spent.Iterations - c.Iterations, spent.Claims - c.Claims, spent.Pushes - c.Pushes}}
	world := World{Main: main, alone: true}
	if parent, err := ParseID(next.Parent); err == nil && prev == nil {
		if parent.Directive != id.Directive || parent.K != id.K-1 {
			return []diag.Diagnostic{finding("record", "a unit follows the one before it", "%s does not follow %s", id, next.Parent)}
		}
		world.Last = &Record{ID: next.Parent, State: Archived}
	}
	return Step(prev, next, world)
}

// CheckLedgers checks the ledgers of all units of one directive, oldest unit first: each ledger must be
// the sum over the records up to it, for that text of the directive. An ended unit may be refined and
// archived after the next one began, at a time that no ledger shows. So a ledger that begins may count
// such closing steps of earlier units or not.
func CheckLedgers(units ...[]*Record) []diag.Diagnostic {
	least, most := map[string]Counts{}, map[string]Counts{} // without closing steps, and with all of them
	for _, records := range units {
		ended := false
		for i, r := range records {
			text, c := r.DirectiveHash, cost(r.Event, r.Actor)
			from, to := least[text], most[text]
			if i > 0 && records[i-1].DirectiveHash == text {
				from, to = records[i-1].Budget.Spent, records[i-1].Budget.Spent
			}
			if from, to = from.plus(c), to.plus(c); !r.Budget.Spent.within(from, to) {
				return []diag.Diagnostic{finding("ledger", "compare with a clone's copy of the journals",
					"%s, record %d: says that %d iterations, %d claims and %d pushes are spent; the journals say %d, %d and %d", r.ID, i+1,
					r.Budget.Spent.Iterations, r.Budget.Spent.Claims, r.Budget.Spent.Pushes, to.Iterations, to.Claims, to.Pushes)}
			}
			most[text] = most[text].plus(c)
			if !ended {
				least[text] = least[text].plus(c)
			}
			ended = ended || r.State.Ended()
		}
	}
	return nil
}

// Exit returns the event and the reason code that end or suspend a unit after an exit of the loop (UOW-1);
// false for a status that is no exit.
func Exit(status string) (Event, Reason, bool) {
	switch strings.TrimPrefix(status, "EXIT_") {
	case "CONVERGED":
		return Complete, "LOOP_CONVERGED", true
	case "DIVERGED":
		return Fail, "LOOP_DIVERGED", true
	case "BUDGET_EXCEEDED":
		return Fail, "LOOP_BUDGET_EXCEEDED", true
	case "BLOCKED":
		return Block, "LOOP_BLOCKED", true
	case "NEED_INFO":
		return RequestApproval, NeedInfo, true
	}
	return "", "", false
}
