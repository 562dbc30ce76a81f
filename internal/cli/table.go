package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/manual"
)

// Command is a line of the table of commands: its name, its texts for help, man pages and
// completion, and its function. Flags and usage are not written here: the manual asks Run for
// them, so that none can be forgotten.
type Command struct {
	Name     string // one word
	Doc      string // one line
	Long     string // paragraphs with an empty line between; "" where Doc says it all
	Examples []Example
	Title    string    // above the verbs; "" is "verbs"
	Verbs    []Command // what the first argument may name
	Run      Func      // with verbs, what it does when the first argument names none of them; may be nil then
	Ways     []Way     // what else it does
	Hidden   bool      // for Ward's own programs, and in no list
}

// Example is a command line that a person can type, after `git ward`, and what it does.
type Example = manual.Example

// Group is the commands for one kind of reader.
type Group struct {
	Title    string
	Commands []Command
}

// Table is a program's commands.
type Table struct {
	Program string // as it is typed
	About   string // one line
	Groups  []Group
	Default Func              // what it does without an argument; nil prints the table
	Values  map[string]Values // by their kind, as usage lines name it
}

// ErrTable is returned by a Default that has nothing to show; the table is printed instead.
var ErrTable = errors.New("nothing to show here")

// Run runs the command that the first argument names. `help`, -h and --help print the table,
// `help COMMAND ...` a command's manual, `version` and --version the version.
func (t *Table) Run(ctx context.Context, env *Env) error {
	if len(env.Args) == 0 {
		if t.Default != nil {
			if err := t.Default(ctx, env); !errors.Is(err, ErrTable) {
				return err
			}
		}
		return t.print(env.Stdout)
	}
	args := env.Now(env.Args)
	name, sub := args[0], *env
	sub.words, sub.Args = t.Program, args[1:]
	switch {
	case isHelp(name) && len(sub.Args) > 0:
		sub.Args = append(append([]string{}, sub.Args[1:]...), "--help")
		name = env.Args[1]
	case isHelp(name):
		return t.print(env.Stdout)
	case name == "--version" || name == "-v":
		return printVersion(env.Stdout, "git-ward")
	}
	var all []Command
	for _, g := range t.Groups {
		all = append(all, g.Commands...)
	}
	if c := named(append(t.own(), all...), name); c != nil {
		return c.Call(ctx, &sub)
	}
	return unknown(t.Program, name, "command", all)
}

func isHelp(word string) bool { return word == "help" || word == "-h" || word == "--help" }

// named is the command of that name, nil without one.
func named(list []Command, name string) *Command {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// unknown is the error of a word that no command or verb has.
func unknown(words, name, kind string, list []Command) error {
	err := fmt.Errorf("unknown %s %q", kind, name)
	if near := diag.Nearest(name, names(list)); near != "" {
		return diag.Hint(err, "did you mean `%s %s`?", words, near)
	}
	return diag.Hint(err, "`%s help` lists the %ss", words, kind)
}

// names are those of the commands that people type.
func names(list []Command) (names []string) {
	for _, c := range list {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

func (t *Table) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\nusage: %s <command> [<args>]\n", t.About, t.Program)
	for _, g := range t.Groups {
		fmt.Fprintf(w, "\n%s\n", g.Title)
		printCommands(w, g.Commands)
	}
	_, err := fmt.Fprintf(w, "\n`%s help COMMAND` says more of one; `git help ward` is the manual\n", t.Program)
	return err
}

func printCommands(w io.Writer, list []Command) {
	for _, c := range list {
		if !c.Hidden {
			manual.Item(w, 14, c.Name, c.Doc)
		}
	}
}

// Call runs the command, or the verb that the first argument names.
func (c *Command) Call(ctx context.Context, env *Env) error {
	sub := *env
	sub.command = c
	if sub.words = c.Name; env.words != "" {
		sub.words = env.words + " " + c.Name
	}
	if len(c.Verbs) == 0 {
		return c.run(ctx, &sub)
	}
	if len(env.Args) == 0 && c.Run == nil {
		return diag.Hint(fmt.Errorf("%s takes a verb", c.Name), "`%s help` lists the verbs", sub.words)
	}
	if len(env.Args) > 0 {
		name := env.Args[0]
		if v := named(c.Verbs, name); v != nil {
			sub.Args = env.Args[1:]
			return v.Call(ctx, &sub)
		}
		if isHelp(name) && len(env.Args) > 1 && named(c.Verbs, env.Args[1]) != nil {
			sub.Args = append(append([]string{}, env.Args[2:]...), "--help")
			return named(c.Verbs, env.Args[1]).Call(ctx, &sub)
		}
		if isHelp(name) {
			p, err := c.page(ctx, env.words)
			if err != nil {
				return err
			}
			return p.WriteText(env.Stdout)
		}
		if c.Run == nil {
			return unknown(sub.words, name, "verb", c.Verbs)
		}
	}
	return c.run(ctx, &sub)
}

// run goes the way that the arguments ask for. A command of several has one manual for all.
func (c *Command) run(ctx context.Context, env *Env) error {
	if len(c.Ways) == 0 {
		return c.Run(ctx, env)
	}
	before := env.Args
	if i := slices.Index(before, "--"); i >= 0 {
		before = before[:i]
	}
	short, long := slices.Contains(before, "-h"), slices.Contains(before, "--help")
	if short || long {
		p, err := c.page(ctx, strings.TrimSuffix(env.words, " "+c.Name))
		if err != nil {
			return err
		}
		if short {
			p.WriteUsage(env.Stdout)
			return flag.ErrHelp
		}
		return errors.Join(flag.ErrHelp, p.WriteText(env.Stdout))
	}
	for _, w := range c.Ways {
		if i := slices.Index(before, "--"+w.Switch); i >= 0 && w.Switch != "" {
			env.Args = slices.Delete(slices.Clone(env.Args), i, i+1)
			return w.Run(ctx, env)
		}
		if w.Switch == "" {
			if a, err := ask(ctx, w.Run, env.words, env.Args); err == nil && a.fault == nil && len(a.rest) == 0 {
				return w.Run(ctx, env)
			}
		}
	}
	return c.Run(ctx, env)
}
