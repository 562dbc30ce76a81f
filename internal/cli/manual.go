package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/go-json-experiment/json"

	"git-ward/internal/diag"
)

// Manual is all that there is to say of a command: what stands in the table, and what its
// code answered when it was asked for its flags. Help, man pages, completion and the tests
// of all three read it, and so no flag is undocumented and none is only documented.
type Manual struct {
	Words    string    `json:"words"` // as it is typed, git ward uow approve
	Doc      string    `json:"doc"`
	Long     string    `json:"long,omitzero"`
	Usage    []string  `json:"usage,omitzero"` // each after `git ward`
	Flags    []Flag    `json:"flags,omitzero"`
	Examples []Example `json:"examples,omitzero"`
	Title    string    `json:"title,omitzero"`
	Verbs    []Manual  `json:"verbs,omitzero"`
	Hidden   bool      `json:"hidden,omitzero"`
}

// Flag is an option of a command.
type Flag struct {
	Name   string `json:"name"` // without dashes
	Value  string `json:"value,omitzero"`
	Text   string `json:"text,omitzero"` // "" is a flag that Ward's own programs give each other
	Switch bool   `json:"switch,omitzero"`
}

// Dashed is the flag as it is typed.
func (f Flag) Dashed() string {
	if len(f.Name) == 1 {
		return "-" + f.Name
	}
	return "--" + f.Name
}

// asked is what a command says of itself where it is asked instead of run: Flags fills it
// and ends the command.
type asked struct {
	usage  string
	flags  []Flag
	rest   []string // the arguments, parsed
	fault  error    // of the arguments
	manual *Manual  // of a program of its own
}

// errAsked ends a command that was asked.
var errAsked = errors.New("asked for its flags")

// ask lets a command tell its flags, and what it makes of the arguments; nothing is run.
func ask(ctx context.Context, run Func, words string, args []string) (*asked, error) {
	a := new(asked)
	env := &Env{Args: args, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Dir: "/", words: words,
		Getenv: func(string) string { return "" }, asked: a}
	if err := run(ctx, env); !errors.Is(err, errAsked) {
		return nil, fmt.Errorf("%s does not tell its flags: %w", words, err)
	}
	return a, nil
}

// Manual asks the command and its verbs. A fault is a program of Ward's that is missing.
func (c *Command) Manual(ctx context.Context, env *Env) (*Manual, error) {
	m := &Manual{Words: strings.TrimPrefix(env.words+" "+c.Name, " "), Doc: c.Doc, Long: strings.TrimSpace(c.Long), Examples: c.Examples, Title: c.Title, Hidden: c.Hidden}
	if c.Run != nil {
		a, err := ask(ctx, c.Run, m.Words, nil)
		if err != nil {
			return nil, err
		}
		m.Usage, m.Flags = strings.Split(a.usage, " | "), a.flags
		if a.manual != nil { // this table has the program's name only; it has the rest itself
			a.manual.Doc = c.Doc
			m = a.manual
		}
	}
	sub := *env
	sub.words = m.Words
	for i := range c.Verbs {
		v, err := c.Verbs[i].Manual(ctx, &sub)
		if err != nil {
			return nil, err
		}
		m.Verbs = append(m.Verbs, *v)
	}
	if c.Run == nil {
		m.Usage = []string{c.Name + " " + c.verbsUsage()}
	}
	return m, nil
}

// flagsOf are a flag set's, by name.
func flagsOf(fs *flag.FlagSet) (list []Flag) {
	fs.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		list = append(list, Flag{f.Name, value, text, isSwitch(f)})
	})
	return list
}

// isSwitch tells a flag that takes no value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// writeFlags prints the flags that people type.
func writeFlags(w io.Writer, flags []Flag) {
	for _, f := range flags {
		if f.Text != "" { // what Ward's programs say to each other is nothing that people type
			fmt.Fprintf(w, "  %-24s %s\n", strings.TrimSpace(f.Dashed()+" "+f.Value), f.Text)
		}
	}
}

// prefix is what stands before a usage line.
func (m *Manual) prefix() string {
	if strings.HasPrefix(m.Words, ward) {
		return ward
	}
	return ""
}

// ward is how git-ward's commands are typed.
const ward = "git ward "

func writeUsage(w io.Writer, prefix string, usage []string) {
	for i, line := range usage {
		fmt.Fprintf(w, "%s %s%s\n", []string{"usage:", "   or:"}[min(i, 1)], prefix, line)
	}
}

// WriteText prints the manual for a terminal.
func (m *Manual) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n\n", m.Words, m.Doc)
	writeUsage(&b, m.prefix(), m.Usage)
	writeFlags(&b, m.Flags)
	if m.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", m.Long)
	}
	if len(m.Verbs) > 0 {
		title := m.Title
		if title == "" {
			title = "verbs"
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		for _, v := range m.Verbs {
			if !v.Hidden {
				fmt.Fprintf(&b, "  %-14s %s\n", v.Words[strings.LastIndex(v.Words, " ")+1:], v.Doc)
			}
		}
	}
	for i, e := range m.Examples {
		if i == 0 {
			fmt.Fprintf(&b, "\nexamples\n")
		}
		fmt.Fprintf(&b, "  git ward %s\n      %s\n", e.Line, e.Doc)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// askVerb is the word by which one of Ward's programs asks another for the manual of a
// verb; the answer is JSON.
const askVerb = "--manual"

// askProgram is the manual of another program's verb.
func askProgram(ctx context.Context, path, verb string) (*Manual, error) {
	out, err := exec.CommandContext(ctx, path, askVerb, verb).Output()
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%s does not tell the flags of %s: %w", path, verb, err), "it is of another version: run scripts/build")
	}
	m := new(Manual)
	return m, json.Unmarshal(out, m)
}

// Part is a program that main.go's table leads to by Exec: its first argument names the
// command.
func Part(commands ...Command) Func {
	return func(ctx context.Context, env *Env) error {
		args := env.Args
		if len(args) == 2 && args[0] == askVerb {
			c := named(commands, args[1])
			if c == nil {
				return unknown("git ward", args[1], "command", commands)
			}
			sub := *env
			sub.words = "git ward"
			m, err := c.Manual(ctx, &sub)
			if err != nil {
				return err
			}
			return diag.WriteJSON(Raw(env.Stdout), m)
		}
		if len(args) == 0 || named(commands, args[0]) == nil {
			return diag.Hint(errors.New("this program is started by git-ward"), "`git ward help` lists the commands")
		}
		sub := *env
		sub.Args, sub.words = args[1:], "git ward"
		return named(commands, args[0]).Call(ctx, &sub)
	}
}
