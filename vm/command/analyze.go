package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/vm"
	"git-ward/vm/asm"
	"git-ward/vm/halting"
)

const analyzeUsage = "udc analyze [--max-time D] [--max-risk RISK] [--config FILE] [--json] FILE...\n" +
	"       git ward udc analyze --check REPORTS [--config FILE] [--json]"

// analysis is `git ward udc analyze`.
type analysis struct {
	options
	time    time.Duration
	maxRisk string
	reports string
}

// report is UDC-5's object.
type report struct {
	File string `json:"file"`
	halting.Report
}

// analyze says whether plans end, with proofs; with --check it verifies proofs of
// an earlier answer. Exit 1: a risk is above --max-risk, or a proof does not hold.
func analyze(ctx context.Context, env *cli.Env) error {
	a := &analysis{options: options{reader: &reader{env: env}}, time: time.Minute, maxRisk: string(halting.High)}
	args, err := env.Flags("udc analyze", analyzeUsage, func(fs *flag.FlagSet) {
		fs.DurationVar(&a.time, "max-time", a.time, "give each plan at most `D`; then it is UNKNOWN")
		fs.StringVar(&a.maxRisk, "max-risk", a.maxRisk, "exit with 1 for a plan above `RISK`: LOW, MEDIUM, UNKNOWN or HIGH")
		fs.StringVar(&a.reports, "check", "", "verify the proofs in `REPORTS`, the output of analyze --json, - for standard input")
		fs.StringVar(&a.config, "config", "", "the host's settings, a `file`; default: Ward's own defaults")
		fs.BoolVar(&a.json, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	if err := a.settle(); err != nil {
		return err
	}
	switch {
	case a.time < 1:
		return env.Usage(analyzeUsage, "--max-time: %v", errBelowOne)
	case !slices.Contains(halting.Order, halting.Risk(a.maxRisk)):
		return env.Usage(analyzeUsage, "--max-risk is LOW, MEDIUM, UNKNOWN or HIGH, not %q", a.maxRisk)
	case a.reports != "":
		if len(args) > 0 {
			return env.Usage(analyzeUsage, "--check takes the plans' names from the reports")
		}
		return a.check()
	}
	if err := files(env, analyzeUsage, args); err != nil {
		return err
	}
	return a.each(args, func(p *asm.Program) error { return a.plan(ctx, p) })
}

func (a *analysis) plan(ctx context.Context, p *asm.Program) error {
	o, err := a.environment(p)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, a.time)
	defer cancel()
	r := report{p.Name, halting.Analyze(bounded, p, o)}
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.Loops == nil {
		r.Loops = []halting.Loop{}
	}
	if a.json {
		err = diag.WriteJSON(a.env.Stdout, r)
	} else {
		err = a.show(r)
	}
	if err == nil && r.Risk.Above(halting.Risk(a.maxRisk)) {
		return cli.ErrFindings
	}
	return err
}

// environment is what the analyser knows about CALL: the same tools and plans as
// run. It fails when a plan that can be called does not parse.
func (a *analysis) environment(p *asm.Program) (halting.Options, error) {
	lib := a.library(p)
	defer lib.close()
	o := halting.Options{Calls: a.calls}
	var broken error
	plans := map[string]*asm.Program{}
	// All plans are read now: their files are closed when the analysis runs.
	var load func(*asm.Program)
	load = func(p *asm.Program) {
		for _, in := range p.Instructions {
			if in.Call == nil {
				continue
			}
			name, ok := in.Call.Plan()
			if _, known := plans[name]; !ok || known {
				continue
			}
			plan, err := lib.Plan(name)
			if err != nil && !errors.Is(err, vm.ErrNoPlan) && broken == nil {
				broken = fmt.Errorf("%s:%d: CALL plan %s: %w", p.Name, in.Line, name, err)
			}
			if plans[name] = plan; plan != nil {
				load(plan)
			}
		}
	}
	load(p)
	o.Plan = func(name string) (*asm.Program, bool) { return plans[name], plans[name] != nil }
	if broken != nil {
		return o, a.unlinked(p.Name, broken)
	}
	return o, nil
}

// show prints a verdict for a person.
func (a *analysis) show(r report) error {
	_, err := fmt.Fprintf(a.env.Stdout, "%s: %s: %s\n", diag.Clean(r.File), r.Risk, diag.Clean(r.Reason))
	for _, l := range r.Loops {
		lines := fmt.Sprintf("lines %d to %d", l.StartLine, l.EndLine)
		if l.StartLine == l.EndLine {
			lines = fmt.Sprintf("line %d", l.StartLine)
		}
		fmt.Fprintf(a.env.Stdout, "%s: the loop in %s: %s\n", diag.Pos{Path: r.File, Line: l.StartLine}, lines, diag.Clean(l.Reason))
	}
	if r.Proof != nil {
		fmt.Fprintf(a.env.Stdout, "proof: %s\n", strings.Join(kinds(r.Proof), ", "))
	}
	return err
}
