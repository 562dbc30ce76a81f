package planrun

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/confined"
	"git-ward/vm"
	"git-ward/vm/asm"
)

// call runs a program in the vm; a called plan is executed by the cursor.
func (u *run) call(ctx context.Context, p point) (message, output string, err error) {
	path, callee, err := u.callee(p.Args)
	if err != nil || callee != nil {
		return "calls " + path, "", err
	}
	program, err := u.program(path)
	if err != nil {
		return "", "", err
	}
	image, err := vm.Link(program, library{run: u})
	if err != nil {
		return "", "", err
	}
	machine, err := vm.New(image, u.deps.Limits, u.deps.Calls)
	if err != nil {
		return "", "", err
	}
	for name, argv := range u.deps.Tools {
		machine.Admit(name, func(args []string, most time.Duration, output int64) vm.Answer {
			return vm.Answer(confined.Call(ctx, argv, args, most, output))
		})
	}
	result, err := machine.Run(ctx)
	if err != nil {
		return "", "", err
	}
	text, err := json.Marshal(result)
	if err == nil && result.State != vm.Halted {
		err = fmt.Errorf("%s ended with %s after %d instructions%s", path, result.Code, result.Instructions, because(result.Reason))
	}
	return fmt.Sprintf("%s: %s after %d instructions", path, result.State, result.Instructions), string(text), err
}

// because appends a reason to a sentence, "" for none.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// program reads a .udc file from the linted tree.
func (u *run) program(path string) (*asm.Program, error) {
	data, err := u.lint.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	program, found := asm.Parse(path, data)
	if len(found) > 0 {
		return nil, fmt.Errorf("%s: %s", found[0].Pos, found[0].Message)
	}
	return program, nil
}

// library finds programs called by their registered names.
type library struct{ run *run }

// Plan implements vm.Library.
func (l library) Plan(name string) (*asm.Program, error) {
	path, err := l.run.lint.Resolve(name)
	if err != nil {
		return nil, err
	}
	if path == name || !strings.HasSuffix(path, ".udc") {
		return nil, vm.ErrNoPlan
	}
	return l.run.program(path)
}
