package diag

import (
	"fmt"
	"strconv"
	"strings"
)

// Untrusted is text that an agent or a repository wrote. Any verb of package fmt prints it
// cleaned and on one line. Only Raw gives the original, and a test lists who calls it. In JSON
// it is an ordinary string, because a record must keep what was said; WriteJSON escapes what a
// terminal would interpret.
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

// Lines is the text cleaned, with its line ends.
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
