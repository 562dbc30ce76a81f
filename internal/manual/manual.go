// Package manual is all that there is to say of Ward's commands, as help on a terminal, as
// man pages, as Markdown, and as what a shell completes. It knows no command: internal/cli
// asks the code of each for its flags.
package manual

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Page is all that there is to say of a command: what stands in the table, and what its
// code answered when it was asked for its flags. Help, man pages, completion and the tests
// of all three read it, and so no flag is undocumented and none is only documented.
type Page struct {
	Words    string    `json:"words"` // as it is typed, git ward uow approve
	Doc      string    `json:"doc"`
	Long     string    `json:"long,omitzero"`  // paragraphs with an empty line between; an indented one is a table
	Usage    []string  `json:"usage,omitzero"` // each after `git ward`
	Flags    []Flag    `json:"flags,omitzero"`
	Examples []Example `json:"examples,omitzero"`
	Title    string    `json:"title,omitzero"` // above the verbs
	Verbs    []Page    `json:"verbs,omitzero"`
	Hidden   bool      `json:"hidden,omitzero"`
}

// Flag is an option of a command.
type Flag struct {
	Name   string `json:"name"` // without dashes
	Value  string `json:"value,omitzero"`
	Text   string `json:"text,omitzero"` // "" is a flag that Ward's own programs give each other
	Switch bool   `json:"switch,omitzero"`
}

// Example is a command line that a person can type, after `git ward`, and what it does.
type Example struct {
	Line string `json:"line"`
	Doc  string `json:"doc"`
}

// Group is the commands for one kind of reader.
type Group struct {
	Title string
	Pages []Page
}

// Book is the pages of a program.
type Book struct {
	About  string // one line
	Groups []Group
}

// Dashed is the flag as it is typed.
func (f Flag) Dashed() string {
	if len(f.Name) == 1 {
		return "-" + f.Name
	}
	return "--" + f.Name
}

// Typed is the flag with its value.
func (f Flag) Typed() string { return strings.TrimSpace(f.Dashed() + " " + f.Value) }

// Name is the last word.
func (p *Page) Name() string { return p.Words[strings.LastIndex(p.Words, " ")+1:] }

// Find is the page of the verb that the words name, as far as they do.
func (p *Page) Find(words []string) *Page {
	if len(words) > 0 {
		if v := p.verb(words[0]); v != nil {
			return v.Find(words[1:])
		}
	}
	return p
}

// Shown are the verbs that people type.
func (p *Page) Shown() []Page {
	return slices.DeleteFunc(slices.Clone(p.Verbs), func(v Page) bool { return v.Hidden })
}

// Options are the flags that people type.
func (p *Page) Options() []Flag {
	return slices.DeleteFunc(slices.Clone(p.Flags), func(f Flag) bool { return f.Text == "" })
}

// Heading stands above the verbs.
func (p *Page) Heading() string {
	if p.Title == "" {
		return "verbs"
	}
	return p.Title
}

// Ward is how git-ward's commands are typed.
const Ward = "git ward "

// Prefix is what stands before a usage line.
func (p *Page) Prefix() string {
	if strings.HasPrefix(p.Words, Ward) {
		return Ward
	}
	return ""
}

// WriteUsage prints usage lines and flags.
func (p *Page) WriteUsage(w io.Writer) {
	for i, line := range p.Usage {
		fmt.Fprintf(w, "%s %s%s\n", []string{"usage:", "   or:"}[min(i, 1)], p.Prefix(), line)
	}
	for _, f := range p.Options() {
		fmt.Fprintf(w, "  %-24s %s\n", f.Typed(), f.Text)
	}
}

// WriteText prints the page for a terminal.
func (p *Page) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n\n", p.Words, p.Doc)
	p.WriteUsage(&b)
	if p.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", p.Long)
	}
	for i, v := range p.Shown() {
		if i == 0 {
			fmt.Fprintf(&b, "\n%s\n", p.Heading())
		}
		fmt.Fprintf(&b, "  %-14s %s\n", v.Name(), v.Doc)
	}
	for i, e := range p.Examples {
		if i == 0 {
			fmt.Fprintf(&b, "\nexamples\n")
		}
		fmt.Fprintf(&b, "  git ward %s\n      %s\n", e.Line, e.Doc)
	}
	_, err := w.Write(b.Bytes())
	return err
}
