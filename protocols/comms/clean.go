package comms

import (
	"strings"
	"unicode/utf8"

	"git-ward/internal/diag"
)

// cutMarker ends a text that did not fit.
const cutMarker = "\n(cut: a report holds at most 16 KiB, a question 2 KiB)"

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// fitted is a text as it stands in an entry, in at most so many bytes.
func fitted(s string, limit int, marker string) string {
	for n := limit; ; {
		text := asText(cutText(s, n, marker))
		if len(text) <= limit || n <= 0 {
			return text
		}
		n = min(n-1, n*limit/len(text)) // what is indented takes more
	}
}

// cleanText makes any bytes into at most limit bytes of text that can stand in
// an entry.
func cleanText(s string, limit int) string { return cutText(s, limit, cutMarker) }

func cutText(s string, limit int, marker string) string {
	limit = max(limit, len(marker))
	// What a program printed can be gigabytes, and of this much enough remains.
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

// reserved reports whether a line of an entry's text could be taken for more
// than text: by Parse, or by a person who sees it rendered.
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

// shorten keeps at most n bytes of s, whole lines where that keeps at least half.
// So the line that it does cut is long, and stays no heading if it was none.
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
