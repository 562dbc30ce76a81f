package interaction

import (
	"slices"
	"strings"
)

// MaxQuestion bounds a question to the PM, in bytes (COMMS-5).
const MaxQuestion = 2 << 10

// Asks reports whether somebody's last words are a question to whoever reads them, in
// Latin, East Asian or Arabic script, whatever Markdown closes around it.
func Asks(words string) bool {
	words = strings.TrimRight(strings.TrimSpace(words), "*_`\"' )")
	return slices.ContainsFunc([]string{"?", "？", "؟"}, func(mark string) bool { return strings.HasSuffix(words, mark) })
}
