package diag

import "strings"

// Indent makes lines of a program a block of Markdown that shows them as they are.
// The block ends in a newline.
func Indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}
