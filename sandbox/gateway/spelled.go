package gateway

import (
	"bytes"
	"strconv"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// spelledOut is a text's length in bytes after Unicode compatibility decomposition. Some
// models' tokenizers normalise first (NFKC): U+FDFA, three bytes, becomes 33. JSON text may
// also have letters as escapes.
func spelledOut(text []byte) int64 {
	n := int64(len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\\' && i+6 <= len(text) && text[i+1] == 'u':
			code, _ := strconv.ParseUint(string(text[i+2:i+6]), 16, 16) // checked as JSON before
			n += longer(rune(code), 6)
			i += 6
		case c == '\\':
			i += 2
		case c < utf8.RuneSelf:
			i += next(text[i:])
		default:
			letter, size := utf8.DecodeRune(text[i:])
			n += longer(letter, size)
			i += size
		}
	}
	return n
}

// next is the position of the next letter that may grow. Long ASCII texts, such as pictures',
// are skipped quickly.
func next(text []byte) int {
	const step = 64
	n := 1
	for n+step <= len(text) && plain(text[n:n+step]) {
		n += step
	}
	for n < len(text) && text[n] < utf8.RuneSelf && text[n] != '\\' {
		n++
	}
	return n
}

func plain(text []byte) bool {
	var all byte
	for _, c := range text {
		all |= c
	}
	return all < utf8.RuneSelf && bytes.IndexByte(text, '\\') < 0
}

// longer is by how many bytes a letter grows.
func longer(letter rune, written int) int64 {
	if letter >= lastLonger {
		return 0
	}
	return max(int64(lengths()[letter])-int64(written), 0)
}

// lastLonger is after the last letter that grows.
const lastLonger = 0x1F300

// lengths are all letters' decomposed lengths in bytes, precomputed because a look-up for each
// letter of a 30 MiB body would take half a second.
var lengths = sync.OnceValue(func() *[lastLonger]uint8 {
	var all [lastLonger]uint8
	for letter := range all {
		all[letter] = uint8(len(norm.NFKC.PropertiesString(string(rune(letter))).Decomposition()))
	}
	return &all
})
