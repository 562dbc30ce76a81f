package site

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// In bytes: how much of a text a page shows unfolded, and how much at all.
const (
	shownText = 3 << 10
	mostText  = 256 << 10
)

// A chip is a state in one to three words, with its CSS class.
type chip struct{ Class, Words string }

// A fact is a name and a value.
type fact struct{ Name, Words string }

// A long text shows its beginning; a reader can unfold the rest.
type long struct {
	ID, Begin, Rest, Size, Cut string
}

// newLong cuts a text for a page; id names it there. Cut says what is missing.
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

// cutAt returns at most n bytes of a text: whole lines if possible, otherwise whole runes.
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
