// Package manual formats the documentation of commands as terminal help, man pages, Markdown
// and shell completion. It knows no command: internal/cli asks the code of each for its flags.
package manual

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Page is the documentation of a command: its line of the table, and the flags that its code
// reported. Help, man pages, completion and the tests of all three read it, and so no flag is
// undocumented and none is only documented.
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

// Dashed is the flag as typed, with its dashes.
func (f Flag) Dashed() string {
	if len(f.Name) == 1 {
		return "-" + f.Name
	}
	return "--" + f.Name
}

// Name is the last word.
func (p *Page) Name() string { return p.Words[strings.LastIndex(p.Words, " ")+1:] }

// Find returns the page of the longest verb that the words name.
func (p *Page) Find(words []string) *Page {
	if len(words) > 0 {
		if v := p.verb(words[0]); v != nil {
			return v.Find(words[1:])
		}
	}
	return p
}

// Shown returns the verbs that help lists.
func (p *Page) Shown() []Page {
	return slices.DeleteFunc(slices.Clone(p.Verbs), func(v Page) bool { return v.Hidden })
}

// Options returns the flags that help lists.
func (p *Page) Options() []Flag {
	return slices.DeleteFunc(slices.Clone(p.Flags), func(f Flag) bool { return f.Text == "" })
}

// Heading is the text above the list of verbs.
func (p *Page) Heading() string {
	if p.Title == "" {
		return "verbs"
	}
	return p.Title
}

// Ward is the prefix of git-ward's commands in usage lines.
const Ward = "git ward "

// Prefix is the text before a usage line.
func (p *Page) Prefix() string {
	if strings.HasPrefix(p.Words, Ward) {
		return Ward
	}
	return ""
}

// WriteUsage prints usage lines and flags.
func (p *Page) WriteUsage(w io.Writer) {
	for i, line := range p.Usage {
		wrap(w, []string{"usage: ", "   or: "}[min(i, 1)], usageIndent, groups(p.Prefix()+line), "")
	}
	for _, f := range p.Options() {
		Item(w, 24, strings.TrimSpace(f.Dashed()+" "+f.Value), f.Text)
	}
}

// WriteText prints the page for a terminal.
func (p *Page) WriteText(w io.Writer) error {
	var b bytes.Buffer
	wrap(&b, p.Words+": ", "  ", strings.Fields(p.Doc), "")
	fmt.Fprintln(&b)
	p.WriteUsage(&b)
	if p.Long != "" {
		paragraphs(&b, p.Long)
	}
	for i, v := range p.Shown() {
		if i == 0 {
			fmt.Fprintf(&b, "\n%s\n", p.Heading())
		}
		Item(&b, 14, v.Name(), v.Doc)
	}
	for i, e := range p.Examples {
		if i == 0 {
			fmt.Fprintf(&b, "\nexamples\n")
		}
		wrap(&b, "  "+Ward, "      ", typed(e.Line), ` \`)
		wrap(&b, "      ", "      ", strings.Fields(e.Doc), "")
	}
	_, err := w.Write(b.Bytes())
	return err
}
