package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/vm"
	"git-ward/vm/asm"
)

const traceUsage = "udc run --trace [--from N] [--steps N] " + limitUsage + " [--json] FILE"

// maxTraced bounds what trace prints; the rest is for --from.
const maxTraced = 100_000

// tracer is `git ward udc run --trace`.
type tracer struct {
	options
	from, steps int64
}

// trace prints the instructions of a run one by one, each with the machine after
// it: where its head, registers and flags stand, IP and SP.
func trace(ctx context.Context, env *cli.Env) error {
	t := &tracer{options: options{reader: &reader{ctx: ctx, env: env}}, from: 1, steps: 1000}
	args, err := env.Flags("udc run", traceUsage, func(fs *flag.FlagSet) {
		t.fill(fs)
		fs.Func("from", "print from the `N`th instruction on; default 1", func(s string) error { return positive(&t.from, s) })
		fs.Func("steps", "print at most `N` instructions, up to 100,000; default 1,000", func(s string) error { return positive(&t.steps, s) })
	})
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return env.Usage(traceUsage, "name one file")
	}
	if t.steps > maxTraced {
		return env.Usage(traceUsage, "--steps is at most %d", maxTraced)
	}
	if err := t.settle(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.limits.Time)
	defer cancel()
	return t.each(args, func(p *asm.Program) error { return t.trace(ctx, p) })
}

func (t *tracer) trace(ctx context.Context, p *asm.Program) error {
	m, err := t.machine(p)
	if err != nil {
		return err
	}
	if err := m.Skip(ctx, t.from-1); err != nil {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w after %s", interrupted(p.Name), diag.Count(m.Result().Instructions, "instruction"))
		}
		return diag.Hint(fmt.Errorf("did not reach instruction %d: %w", t.from, err), "raise --max-time")
	}
	told := false // whether the last line shows the end
	for range t.steps {
		moment, ok := m.Trace()
		if !ok {
			break
		}
		if err := t.show(moment); err != nil {
			return err
		}
		told = moment.State != vm.Running
	}
	return t.finish(m, told)
}

func (t *tracer) show(s vm.Moment) error {
	if t.json {
		return diag.WriteJSON(t.env.Stdout, s)
	}
	place := diag.Pos{Path: s.File, Line: s.Line}
	_, err := fmt.Fprintf(t.env.Stdout, "%8d  %s  ip %d sp %d  %-16s  head %d cell %d  R0 %d R1 %d R2 %d R3 %d  flags %s%s\n",
		s.Number, place, s.IP, s.SP, diag.Clean(s.Instruction), s.Head, s.Cell,
		s.Registers[0], s.Registers[1], s.Registers[2], s.Registers[3], cmp.Or(s.Flags, "-"), end(s.Code))
	return err
}

func end(c vm.Code) string {
	if c == "" {
		return ""
	}
	return "  " + string(c)
}

// finish prints the run's state after the last line. A program knows it from that line, unless
// no instruction ended the run: then it gets the run's result.
func (t *tracer) finish(m *vm.Machine, told bool) error {
	r := m.Result()
	var err error
	switch {
	case t.json && (told || r.State == vm.Running):
	case t.json:
		err = diag.WriteJSON(t.env.Stdout, r)
	case r.State == vm.Running:
		_, err = fmt.Fprintf(t.env.Stdout, "... it goes on; --from %d shows more\n", r.Instructions+1)
	default:
		err = t.options.show(m, r)
	}
	if err != nil {
		return err
	}
	if r.State == vm.Failed || r.State == vm.Timeout {
		return cli.ErrFindings
	}
	return nil
}
