package audit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// QuoteRef is a ref name as records hold it: JSON holds UTF-8 only, so bytes that
// are not, and a backslash, are written \xNN. Git allows no backslash in a ref's
// name, so the names of all refs that exist stay apart. UnquoteRef takes it back.
func QuoteRef(name string) string {
	if utf8.ValidString(name) && !strings.Contains(name, `\`) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && n == 1 || r == '\\' {
			fmt.Fprintf(&b, `\x%02x`, name[i])
		} else {
			b.WriteString(name[i : i+n])
		}
		i += n
	}
	return b.String()
}

// UnquoteRef is the ref name that QuoteRef wrote.
func UnquoteRef(text string) string {
	if !strings.Contains(text, `\x`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if strings.HasPrefix(text[i:], `\x`) && len(text) >= i+4 {
			if c, err := strconv.ParseUint(text[i+2:i+4], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// SizeOf is the largest size of a ref in a record, in bytes.
func SizeOf(name string) int {
	size := 220 // two object ids, keys and punctuation
	for _, r := range QuoteRef(name) {
		switch {
		case r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029':
			size += 6 // \u00NN
		case r == '"' || r == '\\':
			size += 2
		default:
			size += utf8.RuneLen(r)
		}
	}
	return size
}
