package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
	"git-ward/internal/manual"
)

// asked is a command's description of itself when it is asked instead of run: Flags fills it
// and ends the command.
type asked struct {
	usage string
	flags []manual.Flag
	rest  []string     // the arguments, parsed
	fault error        // of the arguments
	page  *manual.Page // of a program of its own
}

// errAsked ends a command that was asked.
var errAsked = errors.New("asked for its flags")

// ask lets a command describe its flags and arguments without running.
func ask(ctx context.Context, run Func, words string, args []string) (*asked, error) {
	a := new(asked)
	env := &Env{Args: args, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Dir: "/", words: words,
		Getenv: func(string) string { return "" }, asked: a}
	if err := run(ctx, env); !errors.Is(err, errAsked) {
		return nil, fmt.Errorf("%s does not tell its flags: %w", words, err)
	}
	return a, nil
}

// page asks the command and its verbs. An error means that a program of Ward's is missing.
func (c *Command) page(ctx context.Context, words string) (*manual.Page, error) {
	p := &manual.Page{Words: strings.TrimPrefix(words+" "+c.Name, " "), Doc: c.Doc, Long: strings.TrimSpace(c.Long),
		Examples: c.Examples, Title: c.Title, Hidden: c.Hidden}
	if c.Run != nil {
		a, err := ask(ctx, c.Run, p.Words, nil)
		if err != nil {
			return nil, err
		}
		p.Usage, p.Flags = forms(a.usage), a.flags
		if a.page != nil { // this table has the program's name only; it has the rest itself
			a.page.Doc = c.Doc
			p = a.page
		}
	}
	for _, w := range c.Ways {
		a, err := ask(ctx, w.Run, p.Words, nil)
		if err != nil {
			return nil, err
		}
		p.Usage = append(p.Usage, forms(a.usage)...)
		if w.Switch != "" {
			a.flags = append(a.flags, manual.Flag{Name: w.Switch, Text: w.Doc, Switch: true})
		}
		for _, f := range a.flags {
			if !slices.ContainsFunc(p.Flags, func(other manual.Flag) bool { return other.Name == f.Name }) {
				p.Flags = append(p.Flags, f)
			}
		}
	}
	slices.SortStableFunc(p.Flags, func(a, b manual.Flag) int { return strings.Compare(a.Name, b.Name) })
	for i := range c.Verbs {
		v, err := c.Verbs[i].page(ctx, p.Words)
		if err != nil {
			return nil, err
		}
		p.Verbs = append(p.Verbs, *v)
	}
	if c.Run == nil {
		p.Usage = []string{c.Name + " " + strings.Join(names(c.Verbs), "|")}
	}
	return p, nil
}

// book is the manual of a table. A command that cannot be asked, as its program is missing,
// has the table's line only, and stands in the error.
func (t *Table) book(ctx context.Context) (b *manual.Book, err error) {
	b = &manual.Book{About: t.About}
	for _, g := range t.Groups {
		group := manual.Group{Title: g.Title}
		for _, c := range g.Commands {
			if c.Hidden {
				continue
			}
			p, fault := c.page(ctx, t.Program)
			if fault != nil {
				err = errors.Join(err, fault)
				p = &manual.Page{Words: t.Program + " " + c.Name, Doc: c.Doc, Usage: []string{c.Name}}
			}
			group.Pages = append(group.Pages, *p)
		}
		b.Groups = append(b.Groups, group)
	}
	return b, err
}

// flagsOf are a flag set's, by name. A value is in capitals, as usage lines have it, also where
// the flag's text says it as a word of its sentence: "a `file` with the text".
func flagsOf(fs *flag.FlagSet) (list []manual.Flag) {
	fs.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		if value == strings.ToLower(value) {
			value = strings.ToUpper(value)
		}
		list = append(list, manual.Flag{Name: f.Name, Value: value, Text: text, Switch: isSwitch(f)})
	})
	return list
}

// isSwitch tells a flag that takes no value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// askVerb is the word by which one of Ward's programs asks another for the manual of a
// command; the answer is JSON.
const askVerb = "--manual"

// askProgram is the page of another program's command.
func askProgram(ctx context.Context, path, name string) (*manual.Page, error) {
	out, err := exec.CommandContext(ctx, path, askVerb, name).Output()
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%s does not tell the flags of %s: %w", path, name, err), "it is of another version: run scripts/build")
	}
	p := new(manual.Page)
	return p, json.Unmarshal(out, p)
}

// Part runs a program that main.go's table starts by Exec: its first argument names the
// command.
func Part(commands ...Command) Func {
	return func(ctx context.Context, env *Env) error {
		words, args := strings.TrimSpace(manual.Ward), env.Args
		if len(args) == 2 && args[0] == askVerb {
			c := named(commands, args[1])
			if c == nil {
				return unknown(words, args[1], "command", commands)
			}
			p, err := c.page(ctx, words)
			if err != nil {
				return err
			}
			return diag.WriteJSON(Raw(env.Stdout), p)
		}
		if len(args) > 0 && isHelp(args[0]) {
			_, err := fmt.Fprintf(env.Stdout, "usage: %s%s\n", manual.Ward, strings.Join(names(commands), "|"))
			return err
		}
		if len(args) == 0 || named(commands, args[0]) == nil {
			return diag.Hint(errors.New("this program is started by git-ward"), "`git ward help` lists the commands")
		}
		sub := *env
		sub.Args, sub.words = args[1:], words
		return named(commands, args[0]).Call(ctx, &sub)
	}
}

// forms are the lines of a usage: " | " divides them, except within brackets.
func forms(usage string) (lines []string) {
	depth, begin := 0, 0
	for i, c := range usage {
		switch {
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case c == '|' && depth == 0 && strings.HasSuffix(usage[:i], " ") && strings.HasPrefix(usage[i:], "| "):
			lines = append(lines, usage[begin:i-1])
			begin = i + 2
		}
	}
	return append(lines, usage[begin:])
}

// manual is the running command's page.
func (e *Env) manual(name, usage string, fs *flag.FlagSet) *manual.Page {
	_, prefix := e.names()
	p := &manual.Page{Words: prefix + name, Doc: "a part of Ward", Usage: forms(usage)}
	if c := e.command; c != nil {
		p.Doc, p.Long, p.Title, p.Examples = c.Doc, strings.TrimSpace(c.Long), c.Title, slices.Clone(c.Examples)
		for _, v := range c.Verbs {
			p.Verbs = append(p.Verbs, manual.Page{Words: p.Words + " " + v.Name, Doc: v.Doc, Hidden: v.Hidden})
		}
	}
	if fs != nil {
		p.Flags = flagsOf(fs)
	}
	return p
}
