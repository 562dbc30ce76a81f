package worker

import (
	"testing"

	"git-ward/agent/store"
	"git-ward/protocols/comms"
	"git-ward/protocols/uow"
)

// TestBegun: an agent that is started anew within the grace ends what was begun,
// and begins nothing.
func TestBegun(t *testing.T) {
	doc, _ := comms.Parse([]byte("# COMMS\n## Directives\n### D-1: now\n### D-2: as it was\n## Reports\n"))
	d, old := doc.Directives[0], doc.Directives[1]
	type step struct {
		event uow.Event
		state uow.State
	}
	open, active := step{uow.Open, uow.Pending}, step{uow.Activate, uow.Active}
	iterate, claim := step{uow.Iterate, uow.Active}, step{uow.MakeClaim, uow.Active}
	for name, c := range map[string]struct {
		steps []step
		hash  string
		want  bool
	}{
		"opened":          {[]step{open}, d.Hash(), false},
		"activated":       {[]step{open, active}, d.Hash(), false},
		"iterating":       {[]step{open, active, iterate}, d.Hash(), true},
		"claimed":         {[]step{open, active, iterate, claim}, d.Hash(), true},
		"of another text": {[]step{open, active, iterate, claim}, old.Hash(), false},
		"heartbeat":       {[]step{open, active, iterate, {uow.Heartbeat, uow.Active}}, d.Hash(), true},
		"paused":          {[]step{open, active, iterate, {uow.Pause, uow.Paused}}, d.Hash(), false},
		"resumed":         {[]step{open, active, iterate, {uow.Pause, uow.Paused}, {uow.Resume, uow.Active}}, d.Hash(), false},
		"blocked":         {[]step{open, active, iterate, {uow.Block, uow.ZombiedSoft}}, d.Hash(), false},
		"failed":          {[]step{open, active, iterate, {uow.Fail, uow.Failed}}, d.Hash(), true},
	} {
		// A remark of the PM's behind it changes nothing, whichever the machine has.
		for _, tr := range uow.Machine().Transitions {
			if tr.From == tr.To && len(uow.Reasons(uow.Event(tr.On), uow.PM)) > 0 && c.want && tr.From == string(c.steps[len(c.steps)-1].state) {
				c.steps = append(c.steps, step{uow.Event(tr.On), uow.State(tr.To)})
			}
		}
		j := &store.Journal{}
		for _, s := range c.steps {
			j.Records = append(j.Records, &uow.Record{Event: s.event, State: s.state, DirectiveHash: c.hash})
		}
		if got := begun(j, d); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
