package diag

import (
	"errors"
	"strings"
)

// Cut shortens a text to at most size bytes, at a character boundary, and appends "..." if it
// cut.
func Cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "..."
}

// CutWord is Cut at a word boundary. Use it where a text is cut before it is scanned for
// secrets: half a secret would not be recognised.
func CutWord(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return text[:len(text[:size])-wordAt(text[:size], true)] + "..."
}

// EndWord drops the partial word at the start of a text whose beginning was cut away.
func EndWord(text string) string { return text[wordAt(text, false):] }

// wordAt is how many bytes of a text's end, or beginning, are a word's, as secrets are made of.
func wordAt(text string, end bool) (n int) {
	for n < len(text) {
		b := text[n]
		if end {
			b = text[len(text)-1-n]
		}
		if b <= ' ' || b == 0x7f || strings.IndexByte("\"'`()[]{}<>,;:|&?!", b) >= 0 {
			break
		}
		n++
	}
	return n
}

// ErrTooLarge is within each error of a reader for a file, an object or a note of more bytes than the
// caller's limit, of which nothing is read.
var ErrTooLarge = errors.New("it is too large")
