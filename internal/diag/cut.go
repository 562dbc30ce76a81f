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

// CutWord is Cut, but that no piece of a word is left at the end. Where a text is cut before it is
// searched for secrets, nobody knows the half of one for what it is.
func CutWord(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return text[:len(text[:size])-wordAt(text[:size], true)] + "..."
}

// EndWord is the end of a text whose beginning was cut away: without the piece of a word there.
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
