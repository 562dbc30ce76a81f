package checks

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"git-ward/internal/diag"
)

var commitCheck = Check{
	Name: "commit",
	Doc: "Refuses commit metadata that lies to a terminal or a reader: control, escape and bidirectional characters, " +
		"invalid UTF-8, and messages over the limit.",
	Commit: func(r *Run, c *Commit) {
		report := func(rule, message, hint string) {
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: c.ID}, Ref: c.Ref, Rule: rule, Message: message, Hint: hint})
		}
		if n := int64(len(c.Message)); n > r.Config.Limits.MessageSize {
			report("commit/size", fmt.Sprintf("the message has %d bytes, more than %d", n, r.Config.Limits.MessageSize),
				"shorten it: git commit --amend")
			return
		}
		for _, part := range []struct{ name, text, hint string }{
			{"author", c.Text(c.Author), "git commit --amend --reset-author, with a plain user.name and user.email"},
			{"committer", c.Text(c.Committer), "set a plain user.name and user.email, then git commit --amend"},
			{"header", c.Text(c.Header), "commit again with git commit; the header is made by hand"},
			{"message", c.Text(c.Message), "retype the message: git commit --amend"},
		} {
			if what := deceptive(part.text, part.name == "message" || part.name == "header"); what != "" {
				report("commit/"+part.name, "the "+part.name+" holds "+what, part.hint)
				return // the header holds author and committer again
			}
		}
	},
}

// deceptive names the first kind of character in text that a reader cannot see
// or a terminal obeys; newlines and tabs are fine where lines are.
func deceptive(text string, lines bool) string {
	if !utf8.ValidString(text) {
		return "invalid UTF-8"
	}
	for _, ch := range text {
		switch {
		case lines && (ch == '\n' || ch == '\t' || ch == '\r'):
			// A carriage return is common in messages typed on Windows, and
			// diag.Clean shows it.
		case unicode.IsControl(ch):
			return fmt.Sprintf("the control character U+%04X", ch)
		case isBidi(ch):
			return fmt.Sprintf("the bidirectional control U+%04X", ch)
		}
	}
	return ""
}

// isBidi reports the characters that reorder what a reader sees (Unicode TR 36,
// CVE-2021-42574).
func isBidi(ch rune) bool {
	return strings.ContainsRune("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ch)
}
