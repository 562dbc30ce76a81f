package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxListed is how many findings a list shows before it only counts (HOOK-2).
const MaxListed = 50

// Clean makes one line of untrusted text safe to print: it escapes with backslashes what
// FindHidden finds, and unassigned and private characters. Other text is returned unchanged.
func Clean(s string) string {
	var b strings.Builder
	done := 0 // s[:done] is in b
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !printable(s, i, r, n) {
			q := strconv.QuoteToASCII(s[i : i+n])
			b.WriteString(s[done:i] + q[1:len(q)-1])
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// CleanLines is Clean for text of several lines.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}

// CleanJSON is Clean for the strings of a JSON text: hidden characters become text
// that names them, so a canonical form stays canonical.
func CleanJSON(data []byte) []byte {
	text := string(data)
	if _, found := FindHidden(text, true); !found {
		return data
	}
	var b strings.Builder
	for h, found := FindHidden(text, true); found; h, found = FindHidden(text, true) {
		b.WriteString(text[:h.At] + strings.ReplaceAll(Clean(text[h.At:h.At+h.Size]), `\`, `\\`))
		text = text[h.At+h.Size:]
	}
	return []byte(b.String() + text)
}

// printable reports whether the character r of n bytes at i is shown as it is.
// Unassigned and private characters are not hidden, but nobody knows what they look
// like.
func printable(s string, i int, r rune, n int) bool {
	return hiddenAt(s, i, r, n) == "" && (unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || mayHide(r))
}

// WriteText renders findings as `path:line:col: rule: message` and then
// `hint: remedy`, below a line for each commit, MaxListed of them and then a
// count. The findings should be normalized.
func WriteText(w io.Writer, ds []Diagnostic) {
	commit := ""
	for i, d := range ds {
		if i == MaxListed {
			fmt.Fprintf(w, "... and %d more findings\n", len(ds)-MaxListed)
			return
		}
		if d.Commit != commit {
			commit = d.Commit
			fmt.Fprintf(w, "commit %s\n", Short(commit))
		}
		rule := d.Rule
		if !d.IsError() {
			rule = "warning: " + rule
		}
		fmt.Fprintf(w, "%s: %s: %s\n", d.Place(), rule, Clean(d.Message))
		if d.Hint != "" {
			fmt.Fprintf(w, "hint: %s\n", Clean(d.Hint))
		}
	}
}

// WriteJSON renders a value as one line of JSON without HTML escapes, and with what a
// terminal would take for more than text escaped (EscapeJSON).
func WriteJSON(w io.Writer, v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(EscapeJSON(line.Bytes()))
	return err
}

// Short is the abbreviation of an object id that people see: 12 hex digits.
func Short(id string) string { return id[:min(12, len(id))] }

// Nearest returns the candidate with the smallest edit distance to word, for
// "did you mean" hints, or "" when none is near enough to help.
func Nearest(word string, candidates []string) string {
	word = word[:min(64, len(word))]
	best, bestDistance := "", max(2, len(word)/3)+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is Levenshtein's, in one row.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
