package uow

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sourceOf is the code below directories, without tests and without the table of
// reasons.
func sourceOf(t *testing.T, dirs ...string) string {
	t.Helper()
	var text strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "reason.go" {
				return err
			}
			data, err := os.ReadFile(path)
			text.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

// Every reason code is given by somebody: a code of the agent or the host stands in
// their code, and the PM's are codes of a verb of git ward uow.
func TestReasonsAreGiven(t *testing.T) {
	constants := map[Reason]string{DirectiveEdited: "DirectiveEdited", HashMismatch: "HashMismatch", PrevMismatch: "PrevMismatch", Backpressure: "Backpressure", VerdictTimeout: "VerdictTimeout", Trouble: "uow.Trouble",
		DirectiveGone: "uow.DirectiveGone", Question: "uow.Question", PulseIsDue: "uow.PulseIsDue", TransientFailure: "uow.TransientFailure", ModelDenied: "uow.ModelDenied", ProgramKilled: "uow.ProgramKilled", Stopped: "uow.Stopped", Stale: "uow.Stale", CauseGone: "uow.CauseGone", NoTool: "uow.NoTool", NotIncluded: "uow.NotIncluded", NotStarted: "uow.NotStarted"}
	programs := sourceOf(t, ".", "../loop", "../schedule", "../../agent")
	verbs := sourceOf(t, "../command", ".")
	for event, actors := range reasons {
		for actor, codes := range actors {
			if actor == PM {
				verb := strings.ToUpper(string(event[:1])) + string(event[1:])
				if !strings.Contains(verbs, "uow."+verb) && !strings.Contains(verbs, "{"+verb+", ") {
					t.Errorf("git ward uow has no verb for %s", event)
				}
				continue
			}
			for _, code := range codes {
				if name := constants[code]; !strings.Contains(programs, `"`+string(code)+`"`) && (name == "" || !strings.Contains(programs, name)) {
					t.Errorf("nobody gives %s for %s", code, event)
				}
			}
		}
	}
}
