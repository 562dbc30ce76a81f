package diag

import (
	"fmt"
	"strconv"
	"strings"
)

// Untrusted is text that an agent or a repository wrote. However it is printed, in a
// message or an error, by any verb of package fmt, it comes out cleaned and on one
// line: to print it raw, somebody has to write Raw, and a test lists who does. In
// JSON it is a string like another, because a record must say what was said;
// WriteJSON escapes what a terminal would take for more than text.
type Untrusted string

// Raw is the text as it was written, for parsers, files and git, not for people.
func (u Untrusted) Raw() string { return string(u) }

// String is the text cleaned, line ends too.
func (u Untrusted) String() string { return Clean(string(u)) }

// OneLine is a text as one line for people, cleaned: where it has line ends or tabs, a space
// stands, and no escape.
func OneLine(text string) string { return Clean(strings.Join(strings.Fields(text), " ")) }

// OneLine is the text as one line for people.
func (u Untrusted) OneLine() string { return OneLine(string(u)) }

// Lines is the text cleaned, in its lines.
func (u Untrusted) Lines() string { return CleanLines(string(u)) }

// Format prints the text cleaned for every verb.
func (u Untrusted) Format(f fmt.State, verb rune) {
	if verb == 'q' {
		fmt.Fprint(f, strconv.Quote(string(u)))
		return
	}
	if verb == 'x' || verb == 'X' {
		fmt.Fprintf(f, fmt.FormatString(f, verb), string(u))
		return
	}
	fmt.Fprintf(f, fmt.FormatString(f, 's'), Clean(string(u)))
}
