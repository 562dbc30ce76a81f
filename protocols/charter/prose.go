package charter

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// CheckProse finds prose that would change the meaning of AGENTS.md: text that cannot be read,
// and an unclosed code fence, which would swallow everything below it.
func CheckProse(f File) []diag.Diagnostic {
	r := &report{file: f}
	if !r.sized() {
		return r.found
	}
	offset, fence, opened := 0, "", 0
	for raw := range bytes.Lines(f.Data) {
		line := strings.TrimSuffix(string(raw), "\n")
		switch bad := unprintable(line); {
		case strings.HasSuffix(line, "\r"):
			r.add(offset+len(line)-1, "protocol/prose", "the line ends in CR LF", "save the file with LF line ends")
		case !utf8.ValidString(line):
			r.add(offset, "protocol/prose", "the line is not valid UTF-8", "save the file as UTF-8")
		case bad != "":
			r.add(offset, "protocol/prose", "the line holds "+bad, "retype the line")
		}
		if fence == "" {
			if strings.HasPrefix(line, conflictMark) {
				r.add(offset, "protocol/prose", conflict, conflictHint)
			}
			if fence = fenceOf(line); fence != "" {
				opened = offset
			}
		} else if closes(line, fence) {
			fence = ""
		}
		offset += len(raw)
	}
	if fence != "" {
		r.add(opened, "protocol/prose", fmt.Sprintf("the code fence %s is not closed", fence), "close it: all below it in AGENTS.md would be code")
	}
	return r.found
}

// fenceOf is the backticks or tildes that open a fenced code block (CommonMark 0.31, 4.5), ""
// for any other line.
func fenceOf(line string) string {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 {
		return ""
	}
	for _, mark := range []string{"`", "~"} {
		run := text[:len(text)-len(strings.TrimLeft(text, mark))]
		if len(run) >= 3 && (mark == "~" || !strings.Contains(text[len(run):], "`")) {
			return run
		}
	}
	return ""
}

func closes(line, fence string) bool {
	text := strings.TrimLeft(line, " ")
	return len(line)-len(text) <= 3 && len(text) >= len(fence) && strings.Trim(text, fence[:1]+" \t") == "" && strings.HasPrefix(text, fence)
}
