package cycle

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"git-ward/agent/stop"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// TestLeft: what a worker waits for ends no loop. The journal says what it is; somebody
// who ends the unit then gets a report of what there was, with the signal (LOOP-9).
func TestLeft(t *testing.T) {
	for kind, reason := range map[stop.Kind]uow.Reason{stop.Outage: uow.TransientFailure, stop.Denied: uow.ModelDenied, stop.Asked: uow.Question, stop.Killed: uow.ProgramKilled, stop.Missing: uow.NoTool} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, asked, 0)
			s.residuals = []string{"2"}
			wrote := false
			s.solve = func(s *site, _ Brief, _ *Subagents) error {
				if wrote {
					return stop.New(kind, "429 again")
				}
				wrote = true
				return s.write("work", "half")
			}
			if _, err := s.run(); !stop.Is(err, kind) {
				t.Fatal(err)
			}
			if last := s.journal.Last(); last.ReasonCode != reason || last.Note != "429 again" || last.Iteration != 2 {
				t.Fatalf("%+v", last)
			}
			s.open()
			s.residuals, s.signals = []string{"-"}, []loop.Signal{{Kind: loop.RateLimit, Detail: "429 again"}}
			declaration, limits, _ := loop.Declare("D-1.1", s.work.Directive, base())
			l := &Loop{Unit: fakeUnit{s}, Work: s.work, Journal: s.journal, Declaration: declaration, Limits: limits}
			report, err := l.Late(t.Context(), loop.Decision{Event: loop.Backpressure, Reason: loop.BackpressureSignal, Words: "it was ended"})
			s.must(err)
			if report.Status != loop.ExitBlocked || report.StopReason != loop.BackpressureSignal || report.Iterations != 1 || report.DetectedAt == nil ||
				!strings.Contains(report.Signal, "429 again") || report.Partial == "" || report.Failed != "it was ended" {
				t.Errorf("%+v", report)
			}
			if found := report.Check(); len(found) > 0 {
				t.Error(found)
			}
		})
	}
}

// TestNoteStays: what happened beside a step is said by the next one that has no words of its own.
func TestNoteStays(t *testing.T) {
	s := newSite(t, asked, 0)
	l := &Loop{Unit: fakeUnit{s}, Work: s.work, Journal: s.journal, Now: time.Now}
	s.note = "another model"
	r := &run{deps: l}
	for _, note := range []string{"its own", ""} {
		_, refused, err := r.offerWith(t.Context(), uow.Input{Event: uow.Block, Reason: uow.TransientFailure, Note: note})
		if s.must(err); refused != nil {
			t.Fatal(refused)
		}
		if want := cmp.Or(note, "another model"); s.journal.Last().Note != want || (s.note == "") != (note == "") {
			t.Errorf("it says %q, and %q is left", s.journal.Last().Note, s.note)
		}
		s.step(uow.Input{Event: uow.Retry, Reason: "RETRY_POLICY"})
	}
}
