package cli

import (
	"context"
	"fmt"
	"io"

	"git-ward/internal/diag"
)

// Command is a line of the table of commands.
type Command struct {
	Name string // one word
	Doc  string // one line
	Run  Func
}

// Group is the commands for one kind of reader.
type Group struct {
	Title    string
	Commands []Command
}

// Dispatch is the command made of a table: the first argument names the line
// that runs. No argument, `help` or -h prints the table.
func Dispatch(program, about string, groups []Group) Func {
	return func(ctx context.Context, env *Env) error {
		if len(env.Args) == 0 {
			printTable(env.Stderr, program, about, groups)
			return ErrUsage
		}
		name := env.Args[0]
		if name == "help" || name == "-h" || name == "--help" {
			printTable(env.Stdout, program, about, groups)
			return nil
		}
		var names []string
		for _, g := range groups {
			for _, c := range g.Commands {
				if c.Name == name {
					sub := *env
					sub.Args = env.Args[1:]
					return c.Run(ctx, &sub)
				}
				names = append(names, c.Name)
			}
		}
		err := fmt.Errorf("unknown command %q", name)
		if near := diag.Nearest(name, names); near != "" {
			return diag.Hint(err, "did you mean `%s %s`?", program, near)
		}
		return diag.Hint(err, "`%s help` lists the commands", program)
	}
}

func printTable(w io.Writer, program, about string, groups []Group) {
	fmt.Fprintf(w, "%s\n\nusage: %s <command> [<args>]\n", about, program)
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s\n", g.Title)
		for _, c := range g.Commands {
			fmt.Fprintf(w, "  %-14s %s\n", c.Name, c.Doc)
		}
	}
}

// Verbs is the command made of verbs: `git ward NAME VERB ...`.
func Verbs(name, usage string, table map[string]Func) Func {
	return func(ctx context.Context, env *Env) error {
		if len(env.Args) == 0 {
			return env.Usage(usage, "%s takes a verb", name)
		}
		f, ok := table[env.Args[0]]
		if !ok {
			return env.Usage(usage, "%q is not a verb of %s", env.Args[0], name)
		}
		sub := *env
		sub.Args = env.Args[1:]
		return f(ctx, &sub)
	}
}
