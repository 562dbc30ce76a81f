package comms

import (
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// cutMarker ends a text that did not fit.
const cutMarker = "\n(cut: a report holds at most 16 KiB, a question 2 KiB)"

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// fitted lays out a text for an entry, in at most limit bytes.
func fitted(s string, limit int, marker string) string {
	for n := limit; ; {
		text := asText(cutText(s, n, marker))
		if len(text) <= limit || n <= 0 {
			return text
		}
		n = min(n-1, n*limit/len(text)) // indentation made the text longer
	}
}

// cleanText converts any bytes to at most limit bytes of text that an entry may contain.
func cleanText(s string, limit int) string { return cutText(s, limit, cutMarker) }

func cutText(s string, limit int, marker string) string {
	limit = max(limit, len(marker))
	// A program's output can be gigabytes; four times the limit leaves enough after cleaning.
	source := s[:min(len(s), 4*limit)]
	var b strings.Builder
	for l := range strings.SplitSeq(lineEnds.Replace(strings.ToValidUTF8(source, "\ufffd")), "\n") {
		writeCleanLine(&b, l)
	}
	text := trimBlankLines(b.String())
	if len(source) == len(s) && len(text) <= limit {
		return text
	}
	return trimBlankLines(shorten(text, limit-len(marker)) + marker)
}

func writeCleanLine(b *strings.Builder, l string) {
	if reserved(l) {
		b.WriteString("    ")
	}
	for h, found := diag.FindHidden(l, true); found; h, found = diag.FindHidden(l, true) {
		b.WriteString(l[:h.At] + diag.Clean(l[h.At:h.At+h.Size]))
		l = l[h.At+h.Size:]
	}
	b.WriteString(l)
	b.WriteByte('\n')
}

// reserved reports whether a line of an entry's text would be more than text, to Parse or to a person
// who reads it rendered.
func reserved(l string) bool {
	if conflictMarker(l) {
		return true
	}
	s := strings.TrimLeft(l, " ")
	if len(l)-len(s) > 3 {
		return false
	}
	return level(s) > 0 || s == "#" || strings.HasPrefix(s, "# ") || strings.HasPrefix(s, "#\t")
}

// shorten returns at most n bytes of s: whole lines, if these are at least half of n. So a line that it
// cuts is long, and the cut cannot make it a heading.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	if i := strings.LastIndexByte(s, '\n'); i > n/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " \t\n")
}
