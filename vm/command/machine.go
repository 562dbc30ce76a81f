package command

import (
	"cmp"
	"flag"
	"path/filepath"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/confined"
	"git-ward/internal/diag"
	"git-ward/vm"
	"git-ward/vm/asm"
)

// options are what run and trace know about the machine.
type options struct {
	*reader
	config string
	limits vm.Limits
	calls  []string            // tools of the machine's own
	all    []string            // with the others'
	tools  map[string][]string // command lines, of those that are not the machine's own
}

const limitUsage = "[--max-instructions N] [--max-cells N] [--max-time TIME] [--max-output N] [--config FILE]"

// fill adds the flags. A user's 0 would be an error, so -1 stands for "as in the settings" and
// is never accepted from the user.
func (o *options) fill(fs *flag.FlagSet) {
	limit := func(into *int64, name, text string) {
		fs.Func(name, text, func(s string) error { return positive(into, s) })
	}
	limit(&o.limits.Instructions, "max-instructions", "end after `N` instructions")
	limit(&o.limits.Cells, "max-cells", "end before the tape is longer than `N` cells")
	limit(&o.limits.Output, "max-output", "end before more than `N` bytes are printed")
	fs.Func("max-time", "end after a `TIME` such as 90s", func(s string) error {
		d, err := time.ParseDuration(s)
		if err == nil && d < 1 {
			err = errBelowOne
		}
		o.limits.Time = d
		return err
	})
	cli.Config(fs, &o.config)
	fs.BoolVar(&o.json, "json", false, "one JSON object a line")
}

// settle takes unset flags from the settings.
func (o *options) settle() error {
	c, err := config.Given(o.config, o.env.Getenv, o.env.Path)
	if err != nil {
		return err
	}
	o.all = c.VM.Calls
	o.calls, o.tools = c.CallTools()
	set := func(limit *int64, setting int64) {
		*limit = cmp.Or(*limit, setting)
	}
	set(&o.limits.Instructions, c.VM.MaxInstructions)
	set(&o.limits.Cells, c.VM.MaxCells)
	set(&o.limits.Output, c.VM.MaxOutput)
	set((*int64)(&o.limits.Time), int64(c.VM.MaxTime.Duration))
	return nil
}

// library is that of the repository which the plan's file lies in; for standard
// input, of the one around.
func (o *options) library(p *asm.Program) *library {
	lib := &library{reader: o.reader, start: o.env.Dir}
	if p.Name != "-" {
		lib.start = filepath.Dir(o.env.Path(p.Name))
	}
	return lib
}

// machine links a plan with those that it calls.
func (o *options) machine(p *asm.Program) (*vm.Machine, error) {
	lib := o.library(p)
	defer lib.close()
	image, err := vm.Link(p, lib)
	if err != nil {
		return nil, o.unlinked(p.Name, err)
	}
	m, err := vm.New(image, o.limits, o.calls)
	if err != nil {
		return nil, diag.Hint(err, "see [vm] in the settings: `git ward config`")
	}
	for name, argv := range o.tools {
		m.Admit(name, func(args []string, most time.Duration, output int64) vm.Answer {
			return vm.Answer(confined.Call(o.ctx, argv, args, most, output))
		})
	}
	return m, nil
}
