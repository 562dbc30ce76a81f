package command

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/vm"
	"git-ward/vm/asm"
	"git-ward/vm/halting"
	"git-ward/vm/halting/proof"
)

const analyzeUsage = "udc check --analyze [--check] [--proof REPORT] [--max-steps N] [--max-time TIME] [--config FILE] [--json] FILE..."

// analyzeTime is how long one plan may take when no flag says otherwise.
const analyzeTime = 20 * time.Second

// maxReport bounds a file with a report.
const maxReport = 256 << 20

// analyzer is `git ward udc check --analyze`.
type analyzer struct {
	options
	check bool
	proof string
	steps int64
}

// analyzed is the JSON of analyze (UDC-5).
type analyzed struct {
	File string `json:"file"`
	halting.Report
	Checked string `json:"checked,omitempty"` // with --check: what the checker says
}

// analyze says whether plans end, and proves it: exit 0 for every verdict, 1 when
// a proof does not hold, 2 for a plan that cannot be read.
func analyze(ctx context.Context, env *cli.Env) error {
	a := &analyzer{options: options{reader: &reader{ctx: ctx, env: env}}, steps: halting.DefaultSteps}
	a.limits.Time = analyzeTime
	args, err := env.Flags("udc check", analyzeUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&a.check, "check", false, "verify the proof with the independent checker, and say so")
		fs.StringVar(&a.proof, "proof", "", "do not analyse: check the proof in a `report` that --json gave before")
		fs.Func("max-steps", "execute at most `N` instructions; default 400,000,000", func(s string) error { return positive(&a.steps, s) })
		fs.DurationVar(&a.limits.Time, "max-time", analyzeTime, "end after a `TIME` a plan, such as 90s, with what is known then")
		cli.Config(fs, &a.config)
		fs.BoolVar(&a.json, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	if err := files(env, analyzeUsage, args); err != nil {
		return err
	}
	if a.limits.Time < 1 {
		return env.Usage(analyzeUsage, "--max-time: %v", errBelowOne)
	}
	if a.proof != "" && len(args) != 1 {
		return env.Usage(analyzeUsage, "--proof is for one file")
	}
	if err := a.settle(); err != nil {
		return err
	}
	return a.each(args, func(p *asm.Program) error { return a.analyze(ctx, p) })
}

func (a *analyzer) analyze(ctx context.Context, p *asm.Program) error {
	lib := &library{reader: a.reader, start: a.env.Dir}
	defer lib.close()
	if p.Name != "-" {
		lib.start = filepath.Dir(a.env.Path(p.Name))
	}
	if _, err := vm.Link(p, lib); err != nil {
		return a.unlinked(p.Name, err)
	}
	o := halting.Options{Calls: a.all, Steps: a.steps, Plan: func(name string) (*asm.Program, bool) {
		callee, err := lib.Plan(name)
		return callee, err == nil
	}}
	out := analyzed{File: p.Name}
	if a.proof != "" {
		if err := a.load(&out.Report); err != nil {
			return err
		}
	} else {
		limited, cancel := context.WithTimeout(ctx, a.limits.Time)
		defer cancel()
		out.Report = halting.Analyze(limited, p, o)
	}
	var failed error
	if a.check || a.proof != "" {
		failed = out.verify(ctx, p, o)
	}
	if ctx.Err() != nil {
		return interrupted(p.Name) // until it is known there is no verdict
	}
	if err := a.show(&out); err != nil {
		return err
	}
	return failed
}

// load reads a report that an earlier analysis gave.
func (a *analyzer) load(into *halting.Report) error {
	data, err := a.limited(a.proof, maxReport)
	if err != nil {
		return err
	}
	var r analyzed
	err = json.Unmarshal(data, &r, json.RejectUnknownMembers(true))
	if err == nil && !slices.Contains(halting.Order, r.Risk) {
		err = fmt.Errorf("its risk is %q", r.Risk)
	}
	if err != nil {
		return diag.Hint(fmt.Errorf("%s is not a report: %w", a.proof, err), "save one line of `git ward udc check --analyze --json`")
	}
	*into = r.Report
	return nil
}

// verify asks the checker about the report's proof, and whether the risk is the
// one that the proof's claim stands for.
func (r *analyzed) verify(ctx context.Context, p *asm.Program, o halting.Options) error {
	if r.Proof == nil && r.Risk != halting.Low && r.Risk != halting.High {
		r.Checked = "there is no proof to check"
		return nil
	}
	err := proof.Check(ctx, halting.Flat(p, o), r.Proof, o.Limits())
	if err == nil && r.Risk != stands(r.Proof.Claim) {
		err = fmt.Errorf("the proof is that the plan %s, and not for %s", r.Proof.Claim, r.Risk)
	}
	if err != nil {
		r.Checked = "the proof does not hold: " + err.Error()
		return cli.ErrFindings
	}
	r.Checked = fmt.Sprintf("the proof holds: %s", r.Proof.Claim)
	return nil
}

// stands is the risk that a claim proves.
func stands(c proof.Claim) halting.Risk {
	if c == proof.Halts {
		return halting.Low
	}
	return halting.High
}

// show prints a report, for a person without the proof itself.
func (a *analyzer) show(r *analyzed) error {
	if a.json {
		return diag.WriteJSON(a.env.Stdout, r)
	}
	w := a.env.Stdout
	fmt.Fprintf(w, "%s: %s: %s\n", diag.Clean(r.File), diag.Clean(string(r.Risk)), diag.Clean(r.Reason))
	for _, l := range r.Loops {
		fmt.Fprintf(w, "%s:%d: the loop down to line %d: %s\n", diag.Clean(r.File), l.StartLine, l.EndLine, diag.Clean(l.Reason))
	}
	if r.Checked != "" {
		fmt.Fprintf(w, "%s: %s\n", diag.Clean(r.File), diag.Clean(r.Checked))
	}
	return nil
}
