package terminal

import (
	"strings"
)

// canvas is the size of a screen and the characters that it can show.
type canvas struct {
	w, h int
	glyphs
}

func (c canvas) heading(title string) block {
	text := cut(title, c.w, c.more) + " "
	if c.w < 20 || width(text) > c.w {
		return block{rows: []row{{piece{strings.TrimRight(text, " "), Title}}}}
	}
	return block{rows: []row{{piece{text, Title}, piece{strings.Repeat(c.rule, c.w-width(text)), Faint}}}}
}

// text folds a text to the width and indents its lines, less on a narrow screen.
func (c canvas) text(text string, r Role, indent int) (rows []row) {
	if c.w < 30 {
		indent = min(indent, 1)
	}
	space := strings.Repeat(" ", indent)
	for line := range strings.Lines(text) {
		for _, part := range fold(strings.Trim(line, " \n"), c.w-indent) {
			rows = append(rows, row{piece{space + part, r}})
		}
	}
	return rows
}

// command returns the rows of a command to type. They have the whole command, on a narrow screen without an
// indent, so that it can be copied.
func (c canvas) command(text string) (rows []row) {
	if text == "" {
		return nil
	}
	text = foreign(text)
	space := "    "
	if width(text)+len(space) > c.w {
		space = ""
	}
	for _, line := range chop(text, c.w-len(space)) {
		rows = append(rows, row{piece{space + line, Typed}})
	}
	return rows
}

// labelled is a fact: its name, and its text folded beside it, in one line of words where
// there is no room.
func (c canvas) labelled(label, text string, r Role) []row {
	return c.column(11, label, text, r)
}

// column is labelled with a width for the labels.
func (c canvas) column(column int, label, text string, r Role) (rows []row) {
	if text == "" {
		return nil
	}
	if c.w < 40 {
		return c.text(label+": "+text, r, 1)
	}
	for i, line := range fold(text, c.w-column) {
		if i > 0 {
			label = ""
		}
		rows = append(rows, row{piece{label + strings.Repeat(" ", column-len(label)), Faint}, piece{line, r}})
	}
	return rows
}
