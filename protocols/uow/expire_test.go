package uow

import (
	"strings"
	"testing"
)

// TestExpire: a record is dropped once, by the PM, after the unit was put away, and the
// journal keeps what it was.
func TestExpire(t *testing.T) {
	gone := &Expired{Record: strings.Repeat("e", 40), Manifest: strings.Repeat("f", 64)}
	world := World{Main: &Main{DirectiveHash: hashA, Total: Totals(3), Policy: DefaultPolicy()}}
	ended := func() *Record {
		return &Record{ID: "D-1.1", Directive: "D-1", DirectiveHash: hashA, Layout: Layout, State: Archived, Event: Archive, Actor: PM,
			ReasonCode: "AUDIT_RETENTION", Time: FormatTime(noon), Policy: DefaultPolicy(), Budget: Budget{Total: Totals(3)}}
	}
	expired := ended()
	expired.Expired = gone
	refined := ended()
	refined.State, refined.Event = Refinement, Refine
	for name, c := range map[string]struct {
		prev *Record
		in   Input
		want string // the rule of its first finding, "" where it is made
	}{
		"as it should be":           {ended(), Input{Event: Expire, Actor: PM, Reason: "RETENTION_OVER", Expired: gone}, ""},
		"without a manifest":        {ended(), Input{Event: Expire, Actor: PM, Reason: "SPACE_NEEDED", Expired: &Expired{Record: gone.Record}}, ""},
		"twice":                     {expired, Input{Event: Expire, Actor: PM, Reason: "RETENTION_OVER", Expired: gone}, "uow/expired"},
		"without a record":          {ended(), Input{Event: Expire, Actor: PM, Reason: "RETENTION_OVER"}, "uow/expired"},
		"of what is no object":      {ended(), Input{Event: Expire, Actor: PM, Reason: "RETENTION_OVER", Expired: &Expired{Record: "x"}}, "uow/form"},
		"by the agent":              {ended(), Input{Event: Expire, Actor: Agent, Reason: "RETENTION_OVER", Expired: gone}, "uow/actor"},
		"before it was put away":    {refined, Input{Event: Expire, Actor: PM, Reason: "RETENTION_OVER", Expired: gone}, "uow/transition"},
		"with a step of other kind": {refined, Input{Event: Archive, Actor: PM, Reason: "ANALYSIS_DONE", Expired: gone}, "uow/expired"},
	} {
		c.in.Time = noon
		if err := c.prev.Seal(); err != nil {
			t.Fatal(err)
		}
		r, found := Advance(ID{"D-1", 1}, c.prev, c.in, world)
		if c.want != "" {
			if len(found) == 0 || found[0].Rule != c.want {
				t.Errorf("%s: %v", name, found)
			}
			continue
		}
		if len(found) > 0 || *r.Expired != *c.in.Expired {
			t.Fatalf("%s: %v", name, found)
		}
		data, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseRecord(data)
		if err != nil || len(Step(c.prev, again, world)) > 0 {
			t.Errorf("%s: %v %v", name, err, Step(c.prev, again, world))
		}
		again.Expired.Record = strings.Repeat("0", 40)
		if again.Seal() != nil || len(Step(ended(), again, world)) == 0 {
			t.Errorf("%s: a journal may say another record", name)
		}
	}
}
