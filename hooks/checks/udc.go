package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/plan"
	"git-ward/vm/asm"
	"git-ward/vm/halting"
)

// The rules of UDC plans. Those of their text are vm/asm's.
const (
	ruleUDCFile = "udc/file"
	ruleUDCRisk = "udc/risk"
)

// newUDCCheck makes the check of one push: all its analyses share [hooks] udc_time.
func newUDCCheck() Check {
	u := &udc{}
	return Check{
		Name: "udc",
		Doc: "A .udc file is a regular file and parses, and the risk that it never ends is not above [hooks] max_udc_risk; of the PM's that is a warning. A plan is " +
			"judged when it changes, or what it calls does; that is read from the same tree. What the analyser does not know in time is UNKNOWN.",
		Rules: []string{"udc/*", ruleUDCFile, ruleUDCRisk, asm.RuleSize},
		Tip:   u.judge, Record: u.judge,
	}
}

// udc is what the analyses of one push share.
type udc struct {
	deadline time.Time // of all of them together; zero before the first
}

func (u *udc) judge(pass *Pass, t *walk.Tip) error {
	if !hasDocuments(t) {
		return nil
	}
	j := udcTip{pass: pass, push: u, tip: t, tree: &treeFiles{pass: pass, tree: t.Commit.Tree}, plans: map[string]*asm.Program{}}
	for _, c := range t.Changes {
		if c.Deleted() || !strings.HasSuffix(c.Path, ".udc") {
			continue
		}
		if err := j.judge(c); err != nil {
			return err
		}
	}
	if j.anyRisk() {
		return nil
	}
	return j.callers()
}

// udcTip judges the UDC plans that a tip changes.
type udcTip struct {
	pass     *Pass
	push     *udc
	tip      *walk.Tip
	tree     *treeFiles
	registry *plan.Registry
	plans    map[string]*asm.Program // that were called, by name; nil: there is none
	trouble  error                   // of reading them
}

// anyRisk reports whether the settings accept every plan: nothing is above HIGH.
func (j *udcTip) anyRisk() bool {
	return j.pass.Push.Config.Hooks.MaxUDCRisk == string(halting.High)
}

func (j *udcTip) report(d diag.Diagnostic) {
	d.Commit, d.Ref = j.tip.New, j.tip.Ref
	j.pass.Report(d)
}

func (j *udcTip) judge(c walk.Change) error {
	pos := diag.Pos{Path: c.Path}
	if !c.New.IsRegular() {
		j.report(diag.Diagnostic{Pos: pos, Rule: ruleUDCFile, Message: "a UDC plan must be a regular file",
			Hint: "commit the plan itself, or give the link another name"})
		return nil
	}
	data, err := j.pass.Repo.Regular(c.New, asm.MaxBytes)
	if large, ok := errors.AsType[*git.TooLarge](err); ok {
		j.report(diag.Diagnostic{Pos: pos, Rule: asm.RuleSize, Message: fmt.Sprintf("the plan has %d bytes, more than %d", large.Object.Size, large.Limit),
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
	if p == nil || j.anyRisk() {
		return nil
	}
	return j.analyze(p)
}

// analyze asks for a plan's risk.
func (j *udcTip) analyze(p *asm.Program) error {
	if j.push.deadline.IsZero() {
		j.push.deadline = time.Now().Add(j.pass.Push.Config.Hooks.UDCTime.Duration)
	}
	ctx, cancel := context.WithDeadline(j.pass.ctx, j.push.deadline)
	defer cancel()
	verdict := halting.Analyze(ctx, p, halting.Options{Calls: j.pass.Push.Config.VM.Calls, Plan: j.called})
	if err := j.pass.ctx.Err(); err != nil {
		return err
	}
	if j.trouble != nil {
		return j.trouble
	}
	most := halting.Risk(j.pass.Push.Config.Hooks.MaxUDCRisk)
	if !verdict.Risk.Above(most) {
		return nil
	}
	pos := diag.Pos{Path: p.Name}
	if len(verdict.Loops) > 0 {
		pos.Line = verdict.Loops[0].StartLine
	}
	d := diag.Diagnostic{Pos: pos, Rule: ruleUDCRisk,
		Message: fmt.Sprintf("the risk that the plan never ends is %s, above %s: %s", verdict.Risk, most, verdict.Reason),
		Hint:    "`git ward udc check --analyze " + p.Name + "` says more; the host admin sets [hooks] max_udc_risk"}
	if j.pass.Push.Principal == push.PM { // 000's analyser advises, and the limits of a run hold (HOOK-3)
		d.Severity = diag.Warning
		d.Hint = "its limits end it all the same; `git ward udc check --analyze " + p.Name + "` says more"
	}
	j.report(d)
	return nil
}

// called finds a registered plan in the tip's tree. One that is missing or does not parse
// counts as none, because it cannot be entered.
func (j *udcTip) called(name string) (*asm.Program, bool) {
	p, known := j.plans[name]
	if !known {
		p = j.load(name)
		j.plans[name] = p
	}
	return p, p != nil
}

// names is the tip's registry.
func (j *udcTip) names() *plan.Registry {
	if j.registry == nil {
		// A registry with faults has findings of its own.
		j.registry, _ = plan.ParseRegistry(j.read(plan.RegistryPath, plan.MaxRegistryBytes))
	}
	return j.registry
}

func (j *udcTip) load(name string) *asm.Program {
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
func (j *udcTip) read(path string, limit int64) []byte {
	data, err := j.tree.ReadFile(path, limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, diag.ErrTooLarge) {
		j.trouble = err
	}
	return data
}
