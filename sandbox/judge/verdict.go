package judge

import (
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/sandbox/verifier"
	"slices"
)

// unjudged is a verdict on a claim whose commands did not run.
func unjudged(reason string) loop.Verdict {
	v := loop.Judge(loop.Declaration{}, nil)
	v.Reason = reason
	return v
}

// verdictOf translates the facts into package loop's terms and lets it judge them. Redact
// removes secrets from the commands' output.
func verdictOf(p loop.Declaration, d *comms.Directive, f *verifier.Facts, redact func(string) string) loop.Verdict {
	for n := range d.Options.Held.Count {
		p.Commands = append(slices.Clone(p.Commands), heldOut(d, n))
	}
	r := reading{d, f.Controls, f.Separate, f.Same, redact}
	trials := make([]loop.Trial, len(f.Replays))
	for i, runs := range f.Replays {
		trials[i] = r.trial(runs)
	}
	v := loop.Judge(p, trials)
	v.Left = entries(f.Left)
	for _, path := range f.Included {
		v.Included = append(v.Included, diag.Clean(path))
	}
	v.Observed = f.Observed.Written(comms.QuotePath, diag.Clean)
	if f.With != nil {
		v = v.With(loop.Judge(p, []loop.Trial{r.trial(f.With)}))
	}
	if f.Code {
		v = v.InProcess()
	}
	for _, dev := range f.Deviations {
		v.Deviations = append(v.Deviations, withKind(dev.Path, dev.Kind))
	}
	v.Image, v.Fence, v.Main, v.Base = f.Image, f.Fence, f.Main, f.Base
	v.Cache, v.Shared = redact(f.Cache), redact(diag.Clean(f.Shared))
	v = r.against(p, f, v)
	v.Unchanged = f.Same
	switch mayHold := f.Same && d.Options.MayHold != ""; {
	case mayHold && v.Verdict == loop.Exact:
		v.Reason = "every criterion holds already, and nothing was changed"
	case mayHold && v.Verdict == loop.Converged:
	case f.Same || d.Options.Guards == "": // "guards are enough" only applies to work
		v = v.Guarded()
	}
	if m := f.Missing; m != nil {
		v = v.Lacking(MissingTool(m, f.Image))
	}
	return v
}

func entries(paths []verifier.Left) (list []loop.Left) {
	for _, l := range paths {
		list = append(list, loop.Left{Path: comms.QuotePath(l.Path), Kind: l.Kind, Mode: l.Mode, Blob: l.Blob})
	}
	return list
}

// cleaned cleans lines that contain names of the work's.
func cleaned(lines []string) []string {
	list := []string{}
	for _, line := range lines {
		list = append(list, diag.Clean(line))
	}
	return list
}

// against adds the results of the runs against the work.
func (r reading) against(p loop.Declaration, f *verifier.Facts, v loop.Verdict) loop.Verdict {
	for i, runs := range f.Replays {
		kind := loop.RunPlain
		if i > 0 {
			kind = loop.RunAgain
		}
		v.Runs = append(v.Runs, loop.EndOf(kind, r.trial(runs)))
	}
	if f.With != nil {
		v.Runs = append(v.Runs, loop.EndOf(loop.RunAll, r.trial(f.With)))
	}
	for _, a := range f.Against {
		v = v.AgainstIt(p, a.Kind, r.trial(a.Runs))
	}
	if m := f.Mutants; m != nil {
		v.Mutants = &loop.Mutants{Made: m.Made, Killed: m.Killed, Survived: cleaned(m.Survived)}
	}
	if s := f.Surface; s != nil {
		v.Surface = &loop.Surface{Before: s.Before, After: s.After, Gone: cleaned(s.Gone), New: cleaned(s.New)}
	}
	v.NotDone = cleaned(f.NotDone)
	return v
}

// MissingTool describes a missing program: where it is missing and what to do about it. image
// is "" without a fence.
func MissingTool(m *verifier.Missing, image string) loop.MissingTool {
	t := loop.MissingTool{Tool: m.Tool, Command: diag.Clean(m.Shown()), Place: "the image " + diag.Clean(image),
		Remedy: "git ward image build --with PACKAGE makes an image that has it, for [sandbox] image"}
	if image == "" {
		t.Place, t.Remedy = "the launcher's PATH", "install it where the launcher runs"
	}
	return t
}

// withKind is a path and its kind of change. The agent chooses the names and a note is JSON,
// so invalid UTF-8 is escaped, or the verdict could not be written.
func withKind(path, kind string) string { return diag.Clean(path) + " (" + kind + ")" }

// reading interprets the facts of one directive's claim.
type reading struct {
	directive *comms.Directive
	controls  []verifier.Control
	separate  []string // the commands that start the work from outside
	same      bool     // nothing was changed, so what holds held before
	redact    func(string) string
}

// trial reads one run's results by ClaimOf's names.
func (r reading) trial(runs []verifier.Run) (t loop.Trial) {
	for i, c := range r.directive.Criteria {
		for _, run := range runs {
			if run.Name == criterionName(i) {
				t.Criteria = append(t.Criteria, r.outcome(c.Text, run))
			}
		}
	}
	for n := range r.directive.Options.Held.Count {
		c := heldOut(r.directive, n)
		for _, run := range runs {
			if run.Name == c.Text {
				t.Criteria = append(t.Criteria, bit(r.outcome(c.Text, run)))
			}
		}
	}
	for _, run := range runs {
		o := r.outcome("", run)
		switch run.Name {
		case residualName:
			t.Residual = &o
			t.Value, _ = loop.ParseResidual(run.LastLine) // not a decimal: unknown
		case suiteName:
			t.Suite = &o
		case validateName:
			t.Validate = &o
		}
	}
	return t
}

// bit is a held out criterion's outcome: whether it is met, and was before the work. The agent
// reads the note, so it has neither a control nor a reason.
func bit(o loop.Outcome) loop.Outcome {
	b := loop.Outcome{Criterion: o.Criterion, Command: o.Command, Met: o.Met, Before: o.Before, Process: loop.SeparateProcess}
	if !o.Met {
		b.ExitCode = 1
	}
	return b
}

// outcome translates a command's end. A criterion whose control shows that it cannot fail is
// not met.
func (r reading) outcome(criterion string, run verifier.Run) loop.Outcome {
	o := loop.Outcome{Criterion: criterion, Command: run.Shown(), ExitCode: run.Exit, Met: run.OK(), OutputSHA256: run.SHA256, Tail: loop.Tail([]byte(r.redact(run.Tail)))}
	o.Before = r.same && o.Met
	if slices.Contains(r.separate, run.Name) {
		o.Process = loop.SeparateProcess
	}
	switch run.End {
	case verifier.TimedOut:
		o.Trouble = "it did not end within [verify] timeout"
	case verifier.Flooded:
		o.Trouble = "it printed more than [verify] output_size"
	case verifier.Exited:
		if run.Exit == exitNotFound {
			o.Trouble = "it ended with 127: a command that it runs was not found"
		}
	}
	for _, c := range r.controls {
		if c.Name != run.Name {
			continue
		}
		if o.Control, o.Before = c.Says, c.Before; loop.Refuted(c.Says) {
			o.Met, o.Trouble = false, loop.ControlWords(c.Says, false)
		}
	}
	return o
}

// exitNotFound is how a shell ends that did not find a command (POSIX).
const exitNotFound = 127
