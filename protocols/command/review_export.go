package command

import (
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/export"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
)

// exportTo writes a review for other programs: the verdict, and a test case for each command
// that decides. Other facts, such as a restored test, become warnings.
func (w *work) exportTo(c *comparer, f export.Format) error {
	r := export.Report{Name: "git ward review " + w.Directive, Version: cli.Version, Docs: reviewDoc}
	r.Cases = append(r.Cases, w.verdictCase())
	for _, criterion := range w.Criteria {
		k := export.Case{Group: "criteria", Name: criterion.Text.String(), Detail: criterion.Tail.Lines()}
		switch {
		case criterion.Result == "met":
			k.Result = export.Passed
		case criterion.Trouble != "":
			k.Result, k.Why = export.Broken, criterion.Trouble.String()
		case criterion.Result == "not met":
			k.Result, k.Why = export.Failed, "not met: "+criterion.Command.String()
		default:
			k.Result, k.Why = export.NotRun, "no verdict says anything of it"
		}
		r.Cases = append(r.Cases, k)
		if k.Result != export.Passed {
			r.Findings = append(r.Findings, diag.Diagnostic{Pos: diag.Pos{Path: comms.Path}, Rule: "review/criterion",
				Message: criterion.Text.String() + ": " + k.Why, Hint: w.nextCommand()})
		}
	}
	r.Cases = append(r.Cases, w.commandCases()...)
	r.Findings = diag.Normalize(append(r.Findings, w.remarks()...))
	return r.Write(c.env.Stdout, f)
}

// nextCommand is the command that a PM is likeliest to type next.
func (w *work) nextCommand() string {
	if len(w.Commands) == 0 {
		return ""
	}
	return w.Commands[0]
}

// verdictCase is the host's verdict on the whole work.
func (w *work) verdictCase() export.Case {
	k := export.Case{Group: "verdict", Name: w.Directive}
	switch {
	case w.Word == nil:
		k.Result, k.Why = export.NotRun, "there is no verdict on it"
	case w.Word.Verdict == loop.None:
		k.Result, k.Why = export.Failed, "NONE: "+w.Word.Reason
	default:
		k.Result, k.Detail = export.Passed, w.Word.Verdict+": "+w.Word.Reason+"\n"
	}
	return k
}

// commandCases are the commands that decide besides the criteria.
func (w *work) commandCases() (list []export.Case) {
	if w.Word == nil {
		return nil
	}
	for i, o := range []*loop.Outcome{w.Word.ResidualRun, w.Word.Suite, w.Word.Validate} {
		if o == nil {
			continue
		}
		k := export.Case{Group: "commands", Name: []string{"residual", "suite", "validate"}[i], Result: export.Passed}
		switch {
		case o.Trouble != "":
			k.Result, k.Why, k.Detail = export.Broken, o.Trouble, o.Tail
		case !o.Met || o.ExitCode != 0:
			k.Result, k.Why, k.Detail = export.Failed, "not met: "+o.Command, o.Tail
		}
		list = append(list, k)
	}
	return list
}

// remarks are what a reader of the review must not miss.
func (w *work) remarks() (list []diag.Diagnostic) {
	if w.Word != nil && w.Word.Verdict == loop.None {
		list = append(list, diag.Diagnostic{Pos: diag.Pos{Path: comms.Path}, Rule: "review/verdict", Message: "the verdict is NONE: " + w.Word.Reason, Hint: w.nextCommand()})
	}
	add := func(rule, message string, paths []string) {
		for _, path := range paths {
			list = append(list, diag.Diagnostic{Pos: diag.Pos{Commit: w.Commit, Path: path}, Rule: "review/" + rule, Severity: diag.Warning, Message: message})
		}
	}
	if w.Word != nil {
		add("left", "the claim has this otherwise than main, and it is no work; the commands ran without it", w.Word.LeftWords())
		add("deviation", "the work changed this and the commands ran with the project's version", w.Word.Deviations)
		for _, d := range w.Word.Against() {
			list = append(list, diag.Diagnostic{Pos: diag.Pos{Path: comms.Path}, Rule: "review/doubt", Severity: diag.Warning, Message: d.Words()})
		}
	}
	add("protected", "the work changes this, which runs code or steers tools", raw(w.Touched.Protected))
	add("new-root", "the project has no such name at its root, where programs look for what they run and obey", raw(w.Touched.NewAtRoot))
	add("instructions", "the work changes this, which coding agents obey", raw(w.Touched.Instructions))
	add("test", "the work changes this test", raw(w.Touched.Tests))
	return list
}

// raw are paths as git has them: what writes them escapes them.
func raw(paths []diag.Untrusted) (list []string) {
	for _, p := range paths {
		list = append(list, p.Raw())
	}
	return list
}

// reviewDoc says what a rule of a review's is about.
func reviewDoc(rule string) string {
	return map[string]string{
		"review/criterion":    "A criterion of the directive is not met, or no verdict says that it is.",
		"review/verdict":      "The host's verdict does not prove the work.",
		"review/protected":    "The work changes a file that only the PM may change on the project's branch.",
		"review/instructions": "The work changes a file that coding agents obey.",
		"review/test":         "The work changes a test.",
		"review/addition":     "The work adds a file that could decide in place of the project's own.",
		"review/doubt":        "The verdict names this against its own word.",
		"review/deviation":    "The work changed a file that decides, and what the project has was put back.",
	}[rule]
}
