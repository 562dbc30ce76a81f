package diag

import (
	"strings"

	"git-ward/internal/shellword"
)

// Word quotes a text as one word for a shell, if it needs quotes, so that a pasted command
// means what it shows.
func Word(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@,%=") == "" {
		return text
	}
	return shellword.Quote(text)
}
