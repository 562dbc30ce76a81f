package view

import (
	"strings"
	"testing"
	"time"

	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
)

const text = "# COMMS\n\n## Directives\n\n### D-1: one\nIt works.\n\n## Reports\n\n## Questions\n"

// Each state of a unit that waits for somebody is one thing that waits, of its kind, with
// a command; what is at work or over waits for nobody.
func TestWaits(t *testing.T) {
	doc, _ := comms.Parse([]byte(text))
	d := doc.Directive("D-1")
	for _, test := range []struct {
		state   uow.State
		reason  uow.Reason
		kind    Kind
		command string
	}{
		{uow.Pending, "DIRECTIVE_OPEN", "", ""},
		{uow.Active, "WORK_STARTED", "", ""},
		{uow.PendingApproval, uow.Question, Question, "git ward uow approve D-1.1"},
		{uow.PendingApproval, uow.NeedInfo, Question, "git ward directive edit D-1"},
		{uow.PendingApproval, uow.PulseIsDue, Approval, "git ward uow resume --pulse D-1.1"},
		{uow.PendingApproval, "POLICY_BRANCH", Approval, "git ward uow approve D-1.1"},
		{uow.Paused, "PILOT_HOLD", Blocked, "git ward uow resume D-1.1"},
		{uow.ZombiedSoft, "AMBIGUITY_LOCK", Blocked, "git ward uow clarify D-1.1"},
		{uow.ZombiedSoft, uow.Stopped, Outage, "git pull --rebase && git rm scratch/STOP && git commit -m 'go on' scratch/STOP && git push"},
		{uow.ZombiedSoft, uow.ModelDenied, Blocked, "git ward uow retry D-1.1"},
	} {
		policy := uow.DefaultPolicy()
		r := &uow.Record{ID: "D-1.1", Directive: "D-1", DirectiveHash: d.Hash(), State: test.state, ReasonCode: test.reason, Policy: policy, Hash: "h", Time: "2026-11-22T09:00:00Z"}
		p := review.Position{Name: "D-1", Directive: d, Unit: r}
		list := waits(p, (&Source{}).line(p, running{}), nil)
		if test.kind == "" {
			if len(list) != 0 {
				t.Errorf("%s %s: %+v", test.state, test.reason, list)
			}
			continue
		}
		if len(list) != 1 || list[0].Kind != test.kind || list[0].Command != test.command || list[0].What == "" || list[0].Key != "D-1.1 "+string(test.state)+" h" {
			t.Errorf("%s %s: %+v", test.state, test.reason, list)
		}
	}
}

// Work that is proved waits to be taken, and what ended without proof for a word.
func TestWaitsAtTheEnd(t *testing.T) {
	doc, _ := comms.Parse([]byte(text))
	d := doc.Directive("D-1")
	claim := &uow.Claim{Commit: strings.Repeat("c", 40)}
	r := &uow.Record{ID: "D-1.1", Directive: "D-1", DirectiveHash: d.Hash(), State: uow.Archived, Claim: claim}
	for verdict, want := range map[string]Waiting{
		loop.Exact: {Kind: Ready, Command: "git ward review D-1", Or: "git ward take D-1"},
		loop.None:  {Kind: Unproved, Command: "git ward directive edit D-1", Or: "git ward drop D-1"},
	} {
		v := &loop.Verdict{Unit: "D-1.1", Commit: claim.Commit, DirectiveHash: d.Hash(), Verdict: verdict}
		p := review.Position{Name: "D-1", Directive: d, Unit: r, Verdict: v, Reported: comms.Closed}
		list := waits(p, (&Source{}).line(p, running{}), nil)
		if len(list) != 1 || list[0].Kind != want.Kind || list[0].Command != want.Command || list[0].Or != want.Or {
			t.Errorf("%s: %+v", verdict, list)
		}
	}
}

func TestOnHost(t *testing.T) {
	for command, want := range map[string]string{
		"git ward review D-1":                "git ward review --bare '/srv/a b.git' D-1",
		"git ward uow approve -m TEXT D-1.1": "git ward uow approve --bare '/srv/a b.git' -m TEXT D-1.1",
		"git ward directive edit D-1":        "git ward directive edit --bare '/srv/a b.git' D-1",
		"git rm scratch/STOP":                "git rm scratch/STOP",
		"git ward fsck":                      "git ward fsck --bare '/srv/a b.git'",
	} {
		if got := OnHost(command, "/srv/a b.git"); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// What a blocked unit says is the report's own words: no hash of its directive stands before
// them.
func TestWaitsInWords(t *testing.T) {
	doc, _ := comms.Parse([]byte(text))
	d := doc.Directive("D-1")
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	report := &comms.Report{ID: 1, Time: at, Directive: "D-1", Status: comms.ExitBlocked, Text: "Directive: " + d.Hash() + "\n\nThe agent says:\n\n    No parser\n    is here.\n\nBlocked: it is."}
	r := &uow.Record{ID: "D-1.1", Directive: "D-1", DirectiveHash: d.Hash(), State: uow.ZombiedSoft, ReasonCode: "LOOP_BLOCKED", Policy: uow.DefaultPolicy(), Time: at.Format(time.RFC3339)}
	noted := *r
	noted.Note = "Another model goes on: two, for one is away: busy"
	for name, p := range map[string]review.Position{
		"a unit that another model took over": {Name: "D-1", Directive: d, Unit: &noted, Report: report, Reported: comms.Suspended},
		"a unit":                              {Name: "D-1", Directive: d, Unit: r, Report: report, Reported: comms.Suspended},
		"no unit":                             {Name: "D-1", Directive: d, Report: report, Reported: comms.Suspended},
	} {
		list := waits(p, (&Source{}).line(p, running{}), nil)
		if len(list) != 1 {
			t.Fatalf("%s: %+v", name, list)
		}
		if words := list[0].Words.OneLine(); words != "No parser is here." {
			t.Errorf("%s: it says %q", name, words)
		}
	}
	noted.Note, noted.Time = "I hold it.", at.Add(time.Second).Format(time.RFC3339)
	p := review.Position{Name: "D-1", Directive: d, Unit: &noted, Report: report, Reported: comms.Suspended}
	if list := waits(p, (&Source{}).line(p, running{}), nil); len(list) != 1 || list[0].Words.OneLine() != "I hold it." {
		t.Errorf("a step after the report: %+v", list)
	}
}

// TestQueued: what was begun is at work only where somebody holds its lease.
func TestQueued(t *testing.T) {
	doc, _ := comms.Parse([]byte(text))
	d := doc.Directive("D-1")
	for name, test := range map[string]struct {
		state  uow.State
		worker *Worker
		words  string
		cause  uow.Cause
	}{
		"a live lease":  {uow.Active, &Worker{Live: true}, "in progress", uow.IsAtWork},
		"no lease":      {uow.Active, nil, "queued", uow.NobodyAtIt},
		"one that died": {uow.Active, &Worker{}, "queued", uow.NobodyAtIt},
		"opened only":   {uow.Pending, nil, "queued", uow.NobodyAtIt},
		"paused":        {uow.Paused, nil, "waiting for you", uow.PausedByPM},
	} {
		r := &uow.Record{ID: "D-1.1", Directive: "D-1", DirectiveHash: d.Hash(), State: test.state, Policy: uow.DefaultPolicy()}
		line := (&Source{}).line(review.Position{Name: "D-1", Directive: d, Unit: r}, running{})
		if strings.Contains(line.WaitsWords, "at work") {
			t.Errorf("%s: a journal alone cannot say %q", name, line.WaitsWords)
		}
		line.Worker = test.worker
		line.turn()
		if line.Words != test.words || line.Waits.Cause != test.cause || !strings.HasPrefix(line.WaitsWords, line.Waits.String()) {
			t.Errorf("%s: %s, %q, %q", name, line.Words, line.Waits.Cause, line.WaitsWords)
		}
	}
}
