package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
	"git-ward/vm/asm"
	"git-ward/vm/halting"
)

// The rules of UDC plans besides those of their text, which vm/asm has.
const (
	ruleUDCFile = "udc/file"
	ruleUDCRisk = "udc/risk"
)

var udcCheck = Check{
	Name: "udc",
	Doc: "A .udc file is a regular file and parses, and the risk that it never ends is not above [hooks] max_udc_risk. A plan is " +
		"judged when it changes, or what it calls does; that is read from the same tree. What the analyser does not know in time is UNKNOWN.",
	Tip: func(r *Run, t *Tip) error {
		if !push.IsBranch(t.Ref) {
			return nil
		}
		j := udcJudge{Run: r, tip: t, tree: &planTree{run: r, tree: t.Commit.Tree}, plans: map[string]*asm.Program{}}
		for _, c := range t.Changes {
			if c.Deleted() || !strings.HasSuffix(c.Path, ".udc") {
				continue
			}
			if err := j.judge(c); err != nil {
				return err
			}
		}
		if j.Config.Hooks.MaxUDCRisk == string(halting.High) {
			return nil // nothing is above HIGH
		}
		return j.callers()
	},
}

// udcJudge judges the UDC plans that a tip changes.
type udcJudge struct {
	*Run
	tip      *Tip
	tree     *planTree
	registry *plan.Registry
	plans    map[string]*asm.Program // that were called, by name; nil: there is none
	trouble  error                   // of reading them
}

func (j *udcJudge) report(d diag.Diagnostic) {
	d.Commit, d.Ref = j.tip.New, j.tip.Ref
	j.Report(d)
}

func (j *udcJudge) judge(c Change) error {
	place := diag.Pos{Path: c.Path}
	if c.New.Mode != git.ModeFile && c.New.Mode != git.ModeExec {
		j.report(diag.Diagnostic{Pos: place, Rule: ruleUDCFile, Message: "a UDC plan must be a regular file",
			Hint: "commit the plan itself, or give the link another name"})
		return nil
	}
	data, err := j.regular(c.New, asm.MaxBytes)
	var large *git.TooLarge
	if errors.As(err, &large) {
		j.report(diag.Diagnostic{Pos: place, Rule: asm.RuleSize, Message: fmt.Sprintf("the plan has %d bytes, more than %d", large.Object.Size, large.Limit),
			Hint: "split it into plans that CALL one another"})
		return nil
	}
	if err != nil {
		return err
	}
	p, found := asm.Parse(c.Path, data)
	for _, d := range found {
		j.report(d)
	}
	if p == nil || j.Config.Hooks.MaxUDCRisk == string(halting.High) {
		return nil // nothing is above HIGH
	}
	return j.analyze(p)
}

// analyze asks for a plan's risk. All plans of a push share [hooks] udc_time.
func (j *udcJudge) analyze(p *asm.Program) error {
	if j.udcDeadline.IsZero() {
		j.udcDeadline = time.Now().Add(j.Config.Hooks.UDCTime.Duration)
	}
	ctx, cancel := context.WithDeadline(j.ctx, j.udcDeadline)
	defer cancel()
	verdict := halting.Analyze(ctx, p, halting.Options{Calls: j.Config.VM.Calls, Plan: j.called})
	if err := j.ctx.Err(); err != nil {
		return err
	}
	if j.trouble != nil {
		return j.trouble
	}
	most := halting.Risk(j.Config.Hooks.MaxUDCRisk)
	if !verdict.Risk.Above(most) {
		return nil
	}
	place := diag.Pos{Path: p.Name}
	if len(verdict.Loops) > 0 {
		place.Line = verdict.Loops[0].StartLine
	}
	j.report(diag.Diagnostic{Pos: place, Rule: ruleUDCRisk,
		Message: fmt.Sprintf("the risk that the plan never ends is %s, above %s: %s", verdict.Risk, most, verdict.Reason),
		Hint:    "`git ward udc analyze " + p.Name + "` says more; the host admin sets [hooks] max_udc_risk"})
	return nil
}

// called finds a registered plan in the tip's tree. One that is not there, or does
// not parse, is none: it cannot be entered.
func (j *udcJudge) called(name string) (*asm.Program, bool) {
	p, known := j.plans[name]
	if !known {
		p = j.load(name)
		j.plans[name] = p
	}
	return p, p != nil
}

// names is the tip's registry.
func (j *udcJudge) names() *plan.Registry {
	if j.registry == nil {
		// A registry with faults has findings of its own.
		j.registry, _ = plan.ParseRegistry(j.read(plan.RegistryPath, plan.MaxRegistryBytes))
	}
	return j.registry
}

func (j *udcJudge) load(name string) *asm.Program {
	path, ok := j.names().Lookup(name)
	if !ok || !strings.HasSuffix(path, ".udc") {
		return nil
	}
	data := j.read(path, asm.MaxBytes)
	if data == nil {
		return nil
	}
	p, _ := asm.Parse(path, data)
	return p
}

// read reads a file of the tip's tree; nil when there is none of that size.
func (j *udcJudge) read(path string, limit int64) []byte {
	data, err := j.tree.ReadFile(path, limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, plan.ErrTooLarge) {
		j.trouble = err
	}
	return data
}
