package diag

import "strings"

// Cut keeps a text within size bytes, at a whole character: what is longer ends in
// "...", which comes on top.
func Cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "..."
}
