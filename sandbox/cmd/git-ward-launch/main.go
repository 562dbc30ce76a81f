// Git-ward-launch is the host admin's commands of `git ward` that have to do with the
// fence, as a program of its own, so that what a sandbox needs is linked into nothing
// else. It tells the doctor what each worker of the agent's room runs.
package main

import (
	"git-ward/agent/preset"
	"git-ward/internal/cli"
	"git-ward/sandbox/command"
	"git-ward/sandbox/doctor"
)

func main() { cli.Main("git-ward", command.Main(programOf)) }

// programOf is what a worker named in [model] name runs, nil for none.
func programOf(worker string) *doctor.Program {
	p := preset.Of(worker)
	if p == nil {
		return nil
	}
	return &doctor.Program{Name: p.Program, Package: p.Package, NeedsID: p.NeedsID}
}
