package site

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// The limits of the lists on a unit's page.
const (
	maxSteps       = 1000
	maxVerdicts    = 20
	maxCriteria    = 200
	maxTail        = 2 << 10
	maxTranscripts = 200
)

// unit is the data of a unit's page.
type unit struct {
	Name, Directive, Up string
	Title               diag.Untrusted
	Chip                chip
	Waits               string
	Broken              string // why its journal is invalid
	Live                []event
	Verdicts            []verdict
	Curves              []*curve
	Steps               []step
	StepsCut            string
	Transcripts         []transcript
	Machine             template.HTML // "" for none
}

// A titled machine has a heading that its page gives it.
type titled struct {
	*machine
	Title string
}

type verdict struct {
	Words    string
	Reason   string
	Criteria []criterion
}

type criterion struct {
	Result, Class string
	Text          diag.Untrusted
	Tail          string
}

type step struct {
	Time           time.Time
	Words, Letters string
	Note           string
}

type transcript struct{ Words, Command string }

func newUnit(d *view.Directive, u view.Unit, l links, machine template.HTML) unit {
	p := unit{Name: u.ID, Directive: d.Directive, Title: d.Title, Up: l.Directive(d.Directive), Chip: chip{classOf(u.State), u.Words}, Waits: u.WaitsWords, Machine: machine}
	if l.Live && !u.State.Ended() {
		p.Live = newEvents(u.Live)
	}
	p.Curves = pointCurves(u.Residuals, u.Costs)
	for i, v := range newest(u.Verdicts, maxVerdicts) {
		p.Verdicts = append(p.Verdicts, newVerdict(v, i == 0))
	}
	for _, s := range newest(u.Steps, maxSteps) {
		p.Steps = append(p.Steps, step{s.Time, s.Words, string(s.Event), strings.Trim(s.Note.Lines(), "\n")})
	}
	if n := max(0, len(u.Steps)-maxSteps) + u.LeftOut; n > 0 {
		p.StepsCut = fmt.Sprintf("These are the newest %d steps of %d; git ward uow show %s has all.", len(p.Steps), n+len(p.Steps), u.ID)
	}
	p.Broken = diag.Clean(u.Broken)
	for _, t := range newest(u.Transcripts, maxTranscripts) {
		p.Transcripts = append(p.Transcripts, transcript{fmt.Sprintf("iteration %d", t.Iteration), fmt.Sprintf("git ward transcript %s --iteration %d", t.Unit, t.Iteration)})
	}
	return p
}

func classOf(state uow.State) string {
	switch state {
	case uow.Active:
		return "work"
	case uow.Completed:
		return "good"
	case uow.Failed, uow.Breached, uow.ZombiedDead:
		return "bad"
	case uow.PendingApproval, uow.Paused, uow.ZombiedSoft:
		return "wait"
	}
	return ""
}

// newVerdict makes the data of a verdict, with its criteria if it is the one that counts.
func newVerdict(v loop.Verdict, counts bool) verdict {
	p := verdict{Words: fmt.Sprintf("Iteration %d: %s", v.Iteration, loop.VerdictWords(v.Verdict)), Reason: sentence(shorten(diag.Clean(v.Reason), maxLead))}
	if v.Fence == loop.FenceNone {
		p.Reason += " It was judged without a fence."
	}
	if !counts {
		return p
	}
	for _, o := range v.Criteria[:min(len(v.Criteria), maxCriteria)] {
		c := criterion{Result: "not met", Class: "bad", Text: diag.Untrusted(o.Criterion)}
		if o.Passed() {
			c.Result, c.Class = "met", "good"
		} else {
			c.Tail = tail(o.Trouble, o.Tail)
		}
		p.Criteria = append(p.Criteria, c)
	}
	return p
}

// tail returns why a command did not run to its end, and the end of its output.
func tail(trouble, output string) string {
	output = diag.CleanLines(strings.Trim(output, "\n"))
	if len(output) > maxTail {
		output = strings.ToValidUTF8(output[len(output)-maxTail:], "")
	}
	if trouble != "" {
		return strings.TrimRight(diag.Clean(trouble)+"\n"+output, "\n")
	}
	return output
}
