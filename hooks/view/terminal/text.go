package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"git-ward/internal/diag"
)

// Role is the role of a piece of text. It decides only the colour, so that nobody needs
// colours to understand the screen.
type Role int

// The roles.
const (
	Plain  Role = iota
	Title       // of a screen or a part
	Faint       // of less importance
	Good        // met, done
	Bad         // failed, gone wrong
	Wants       // waits for the reader
	Typed       // a command to type
	Chosen      // the line that the keys are at
)

// piece is text of one role. It has no control characters: others' text must pass foreign.
type piece struct {
	text string
	role Role
}

// row is a line of the screen.
type row []piece

func plain(text string) piece { return piece{text, Plain} }

// foreign makes text of an agent, a PM or a tool safe for a terminal: one line, without control characters
// and invisible characters (GATE-7).
func foreign(text string) string { return diag.Clean(strings.ReplaceAll(text, "\t", " ")) }

// width returns the number of columns of a text.
func width(text string) int { return ansi.StringWidth(text) }

// cut cuts a text to w columns at a whole character, and ends it with mark.
func cut(text string, w int, mark string) string {
	if width(text) <= w {
		return text
	}
	if w <= width(mark) {
		return ansi.Truncate(text, w, "")
	}
	return ansi.Truncate(text, w, mark)
}

// fold breaks a text into lines of at most w columns, at blanks if possible, so that paths, options and
// dates stay whole.
func fold(text string, w int) (lines []string) {
	if w = max(w, 1); width(text) <= w {
		return []string{text}
	}
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case width(line)+1+width(word) <= w:
			line += " " + word
			continue
		default:
			lines, line = append(lines, line), word
		}
		if width(line) > w {
			parts := chop(line, w)
			lines, line = append(lines, parts[:len(parts)-1]...), parts[len(parts)-1]
		}
	}
	return append(lines, line)
}

// chop breaks a command into lines of exactly w columns, anywhere. A terminal that joins full lines when
// text is selected gives back the whole command.
func chop(text string, w int) []string {
	if w < 1 {
		w = 1
	}
	return strings.Split(ansi.Hardwrap(text, w, true), "\n")
}

// fit cuts a row to w columns, from its end.
func (r row) fit(w int, mark string) row {
	var out row
	for _, p := range r {
		if w <= 0 {
			break
		}
		p.text = cut(p.text, w, mark)
		w -= width(p.text)
		out = append(out, p)
	}
	return out
}

// apart returns a row with one text at the left edge and another at the right. If there is no room for both,
// it cuts the left one, down to half, and then the right one.
func apart(left, right piece, w int, mark string) row {
	if right.text == "" {
		return row{left}.fit(w, mark)
	}
	if room := w - width(left.text) - 1; width(right.text) > room {
		left.text = cut(left.text, max(w-width(right.text)-1, (w-1)/2), mark)
		right.text = cut(right.text, w-width(left.text)-1, mark)
	}
	gap := w - width(left.text) - width(right.text)
	return row{left, plain(strings.Repeat(" ", max(gap, 0))), right}
}
