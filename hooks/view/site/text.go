package site

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// What a page shows of one text at once, on demand, and not at all, in bytes.
const (
	shownText = 3 << 10
	mostText  = 256 << 10
)

// A chip is a state in a word or three, with the class that colours it.
type chip struct{ Class, Words string }

// A fact is a name and a value.
type fact struct{ Name, Words string }

// A long text is shown by its beginning, and the rest on demand.
type long struct {
	ID, Begin, Rest, Size, Cut string
}

// newLong cuts a text for a page; id names it there. What is cut off is said.
func newLong(id string, text diag.Untrusted) long {
	lines := strings.Trim(text.Lines(), "\n")
	l := long{ID: id}
	if len(lines) > mostText {
		l.Cut = fmt.Sprintf("Cut here: the text has %s.", size(len(lines)))
		lines = cutAt(lines, mostText)
	}
	l.Begin = lines
	if len(lines) > shownText*2 {
		l.Begin = cutAt(lines, shownText)
		l.Rest = strings.TrimPrefix(lines[len(l.Begin):], "\n")
		l.Size = size(len(l.Rest))
	}
	return l
}

// cutAt is the beginning of a text: whole lines where it has some, whole runes at least.
func cutAt(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if i := strings.LastIndexByte(text[:n], '\n'); i > n/2 {
		return text[:i]
	}
	return text[:n]
}

func size(bytes int) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	}
	return diag.Count(bytes, "byte")
}
