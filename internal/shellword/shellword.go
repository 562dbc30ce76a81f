// Package shellword writes words so that a POSIX shell reads them as they are.
package shellword

import "strings"

// Quote is a text as one word of a shell, whatever stands in it but NUL, which no shell takes.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Line is a command of these words, each quoted; "" for none.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}
