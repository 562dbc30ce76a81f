package gateway

import (
	"bytes"
	"strconv"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// spelledOut is how many bytes a text has where each letter that Unicode has for others
// only stands as those. Some models' tokenizers write it so first (NFKC): of U+FDFA, three
// bytes, they make 33. A text of JSON may have a letter as an escape, too.
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

// next is where the next letter is that may be more than it looks like. Long texts, such as
// those of pictures, are gone through quickly.
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

// longer is by how many bytes a letter is longer spelled out than as it is written.
func longer(letter rune, written int) int64 {
	if letter >= lastLonger {
		return 0
	}
	return max(int64(lengths()[letter])-int64(written), 0)
}

// lastLonger is after the last letter that is longer spelled out.
const lastLonger = 0x1F300

// lengths are those of all letters, spelled out, in bytes: a look-up for each letter of a
// body of 30 MiB would take half a second.
var lengths = sync.OnceValue(func() *[lastLonger]uint8 {
	var all [lastLonger]uint8
	for letter := range all {
		all[letter] = uint8(len(norm.NFKC.PropertiesString(string(rune(letter))).Decomposition()))
	}
	return &all
})
