package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/fsm"
)

// FSM is `git ward fsm`.
var FSM = cli.Command{Name: "fsm", Doc: "list, show and draw the machines",
	Long: "Print a machine as a table of transitions. A machine is one of those that are listed without an argument, or a file.", Run: fsmShow,
	Ways: []cli.Way{{Run: fsmList}, {Switch: "dot", Doc: "draw it, for dot -Tsvg", Run: fsmDot}}}

func fsmList(_ context.Context, env *cli.Env) error {
	if err := env.Only("fsm", "fsm", func(*flag.FlagSet) {}); err != nil {
		return err
	}
	for _, name := range fsm.Names() {
		m, _ := fsm.Embedded(name)
		if _, err := fmt.Fprintf(env.Stdout, "%-14s %d states, %d transitions, from %s\n", name, len(m.States()), len(m.Transitions), m.Start); err != nil {
			return err
		}
	}
	return nil
}

func fsmShow(_ context.Context, env *cli.Env) error {
	const usage = "fsm [--json] MACHINE|FILE"
	var asJSON bool
	args, err := env.Flags("fsm", usage, func(fs *flag.FlagSet) { fs.BoolVar(&asJSON, "json", false, "the machine's JSON") })
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return env.Usage(usage, "fsm shows one machine")
	}
	m, err := readMachine(env, args[0])
	if err != nil {
		return err
	}
	if asJSON {
		return diag.WriteJSON(env.Stdout, m)
	}
	fmt.Fprintf(env.Stdout, "%s: starts in %s, accepts in %v\n", m.Name, m.Start, m.Accept)
	for _, t := range m.Transitions {
		if _, err := fmt.Fprintf(env.Stdout, "  %-16s %-28s %s\n", t.From, t.On, t.To); err != nil {
			return err
		}
	}
	return nil
}

func fsmDot(_ context.Context, env *cli.Env) error {
	const usage = "fsm --dot MACHINE|FILE"
	args, err := env.Flags("fsm", usage, func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return env.Usage(usage, "--dot takes one machine")
	}
	m, err := readMachine(env, args[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(env.Stdout, m.Dot())
	return err
}

// readMachine is the embedded machine of that name, or the one in a file.
func readMachine(env *cli.Env, name string) (*fsm.Machine, error) {
	if m, ok := fsm.Embedded(name); ok {
		return m, nil
	}
	info, err := os.Stat(env.Path(name))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		hint := "`git ward fsm` lists the machines; a path names a file"
		if near := diag.Nearest(name, fsm.Names()); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, diag.Hint(fmt.Errorf("%s is neither a machine nor a file", name), "%s", hint)
	}
	if info.Size() > fsm.MaxBytes || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", name, fsm.MaxBytes)
	}
	data, err := os.ReadFile(env.Path(name))
	if err != nil {
		return nil, err
	}
	m, found := fsm.Parse(data, name)
	diag.WriteText(env.Stderr, found)
	if m == nil {
		return nil, cli.ErrFindings
	}
	return m, nil
}
