package sandbox

import (
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/uow"
)

// TestSuperseded: a directive is edited while it is worked on. Its unit is put away by itself,
// and the next one comes to the end.
func TestSuperseded(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	d.launch()
	d.await("work", func() bool { return d.ticked() > 0 })
	d.Git("pull", "--quiet", "--rebase")
	d.Write("COMMS.md", strings.Replace(d.comms(), "Make made.txt.", "Make made.txt, please.", 1))
	d.letFree()
	d.push("an edit")
	d.await("the end of the unit of the new text", func() bool { return d.unit("D-1.2").State == uow.Archived })
	if r := d.last(); r.State != uow.Archived {
		t.Errorf("the unit of the text before is left: %s", r.Line(r.Waits()))
	}
	gittest.InOrder(t, d.uow("show", "D-1.1"), "DIRECTIVE_CHANGED", "ANALYSIS_STARTED", "ANALYSIS_DONE")
	d.Fsck()
}

// TestCancelled: what the PM cancelled is cancelled, in the list and in the report, and is not
// called failed or blocked.
func TestCancelled(t *testing.T) {
	tier.Full(t, "launches of seconds")
	t.Parallel()
	d := newDesk(t)
	d.launch()
	d.await("work", func() bool { return d.ticked() > 0 })
	d.uow("cancel", "D-1.1", "--reason", "NOT_NEEDED")
	d.silent("cancelled")
	d.await("the archive", func() bool { return d.last().State == uow.Archived })
	report := d.comms()
	gittest.InOrder(t, report, " D-1 EXIT_CANCELLED\n", "Cancelled after 0 iterations: the PM ended it, not needed.", "Next: git ward directive edit D-1 (")
	for _, not := range []string{"Blocked:", "FAILED", "without a report", "clarify"} {
		if strings.Contains(report, not) {
			t.Errorf("the report says %q:\n%s", not, report)
		}
	}
	d.Fsck()
}
