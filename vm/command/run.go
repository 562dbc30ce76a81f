package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/vm"
	"git-ward/vm/asm"
)

const runUsage = "udc run " + limitUsage + " [--json] FILE..."

var errBelowOne = errors.New("a limit must be at least 1")

// positive reads a limit.
func positive(into *int64, s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil && n < 1 {
		err = errBelowOne
	}
	*into = n
	return err
}

// run is `git ward udc run`: exit 0 when all plans halted, 1 when one ended by an
// error or a limit, 2 when one could not be run.
func run(ctx context.Context, env *cli.Env) error {
	o := &options{reader: &reader{ctx: ctx, env: env}}
	args, err := env.Flags("udc run", runUsage, o.fill)
	if err != nil {
		return err
	}
	if err := files(env, runUsage, args); err != nil {
		return err
	}
	if err := o.settle(); err != nil {
		return err
	}
	return o.each(args, func(p *asm.Program) error { return o.run(ctx, p) })
}

func (o *options) run(ctx context.Context, p *asm.Program) error {
	m, err := o.machine(p)
	if err != nil {
		return err
	}
	result, err := m.Run(ctx)
	if err != nil {
		return fmt.Errorf("%w after %s", interrupted(p.Name), diag.Count(result.Instructions, "instruction"))
	}
	if o.json {
		err = diag.WriteJSON(o.env.Stdout, result)
	} else {
		err = o.show(m, result)
	}
	if err == nil && result.State != vm.Halted {
		return cli.ErrFindings
	}
	return err
}

// show prints a result for a person: what the plan printed, then how it ended.
func (o *options) show(m *vm.Machine, r *vm.Result) error {
	for _, line := range r.Output {
		fmt.Fprintln(o.env.Stdout, diag.Clean(line))
	}
	place, what := diag.Pos{Path: r.File}, string(r.State)
	if r.Code != "" {
		place.Path, place.Line = m.Place()
		what = string(r.Code)
	}
	_, err := fmt.Fprintf(o.env.Stdout, "%s: %s after %s; head %d, R0 %d, R1 %d, R2 %d, R3 %d, %s not 0\n",
		place, what, diag.Count(r.Instructions, "instruction"), r.Head,
		r.Registers[0], r.Registers[1], r.Registers[2], r.Registers[3], diag.Count(int64(r.Tape.NonZero()), "cell"))
	if r.Reason != "" && err == nil {
		_, err = fmt.Fprintf(o.env.Stdout, "reason: %s\n", diag.Clean(r.Reason))
	}
	if hint := hints[r.Code]; err == nil && hint != "" {
		_, err = fmt.Fprintf(o.env.Stdout, "hint: %s\n", hint)
	}
	return err
}

// hints say what can be done about an end that is not HALT.
var hints = map[vm.Code]string{
	vm.NoHalt:           "end every way through a plan with HALT, or with RET in one that is called",
	vm.IntegerOverflow:  "registers hold signed 64-bit integers",
	vm.FlagsUnset:       "a conditional jump needs a CMP before it",
	vm.DivisionByZero:   "compare the divisor with 0 first",
	vm.CallDenied:       "CALL reaches the tools in [vm] calls, those of [vm] tools inside the fence only, and plans of knowledge_core/plan_registry.json",
	vm.CallArguments:    "print takes any values and strings, mul, div, mod, min and max two values; no argument of a tool of the admin's begins with -",
	vm.CallDepth:        "at most 10 plans can be entered at once: loop instead of calling deeper",
	vm.StackUnderflow:   "RET belongs into plans that are called; end the first plan with HALT",
	vm.InstructionLimit: "it may be in an endless loop: `git ward udc check --analyze` may know; else raise --max-instructions",
	vm.MemoryLimit:      "if the plan needs that much tape, raise --max-cells",
	vm.OutputLimit:      "if the plan needs to print that much, raise --max-output",
	vm.WallClock:        "it may be in an endless loop: `git ward udc check --analyze` may know; else raise --max-time",
}

// unlinked reports a plan that calls one that cannot be read. What is wrong with
// the called one's text is printed already.
func (o *options) unlinked(name string, err error) error {
	if said, ok := errors.AsType[cli.ExitCode](err); ok {
		return said
	}
	return o.refuse(name, []diag.Diagnostic{{Pos: diag.Pos{Path: name}, Rule: "udc/call", Severity: diag.Error,
		Message: err.Error(), Hint: "see knowledge_core/plan_registry.json; its paths are relative to the repository's root"}})
}

const checkUsage = "udc check [--json] FILE..."

// checked is the JSON of check.
type checked struct {
	File         string            `json:"file"`
	Instructions int               `json:"instructions"`
	Labels       int               `json:"labels"`
	Findings     []diag.Diagnostic `json:"findings"`
}

// check is `git ward udc check`: exit 1 when a plan does not parse.
func check(ctx context.Context, env *cli.Env) error {
	r := &reader{ctx: ctx, env: env}
	args, err := env.Flags("udc check", checkUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&r.json, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	if err := files(env, checkUsage, args); err != nil {
		return err
	}
	var worst error
	for _, name := range args {
		worst = worse(worst, r.check(name))
	}
	return worst
}

func (r *reader) check(name string) error {
	data, err := r.read(name)
	if err != nil {
		return err
	}
	p, found := asm.Parse(name, data)
	c := checked{File: name, Findings: []diag.Diagnostic{}}
	if found != nil {
		c.Findings = found
	} else {
		c.Instructions, c.Labels = len(p.Instructions), len(p.Labels)
	}
	if r.json {
		err = diag.WriteJSON(r.env.Stdout, c)
	} else {
		diag.WriteText(r.env.Stdout, found)
	}
	if err == nil && found != nil {
		return cli.ErrFindings
	}
	return err
}
