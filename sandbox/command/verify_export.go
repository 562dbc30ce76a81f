package command

import (
	"fmt"
	"io"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/export"
	"git-ward/sandbox/verifier"
)

// writeFacts writes the results for other programs: a test case for each command of each run,
// and a finding for each file that was put back. Whatever exits 1 did not pass.
func writeFacts(w io.Writer, f *verifier.Facts, format export.Format) error {
	r := export.Report{Name: "git ward verify", Version: cli.Version}
	found := func(path, rule, message string) {
		r.Findings = append(r.Findings, diag.Diagnostic{Pos: diag.Pos{Commit: f.Commit, Path: path}, Rule: rule, Message: message})
	}
	if f.Unfit != "" {
		r.Cases = append(r.Cases, export.Case{Group: "commit", Name: f.Commit, Result: export.Broken, Why: f.Unfit})
		found("", "verify/commit", "it cannot be judged: "+f.Unfit)
	}
	for _, d := range f.Deviations {
		why := "what decides was " + d.Kind + ", and put back"
		r.Cases = append(r.Cases, export.Case{Group: "put back", Name: d.Path, Result: export.Failed, Why: why})
		found(d.Path, "verify/put-back", why)
	}
	runs := func(name string, all []verifier.Run) {
		for _, run := range all {
			c := export.Case{Group: name, Name: run.Name + ": " + run.Line, Result: export.Passed, Detail: run.Tail}
			if !run.OK() {
				c.Result, c.Why = export.Failed, fmt.Sprintf("%s %d", run.End, run.Exit)
				if run.End != verifier.Exited {
					c.Result = export.Broken
				}
				found("", "verify/command", name+": "+run.Line+": "+c.Why)
			}
			r.Cases = append(r.Cases, c)
		}
	}
	for i, all := range f.Replays {
		runs(fmt.Sprintf("run %d", i+1), all)
	}
	runs("all of the claim", f.With)
	for _, a := range f.Against {
		runs(a.Kind, a.Runs)
	}
	return r.Write(w, format)
}
