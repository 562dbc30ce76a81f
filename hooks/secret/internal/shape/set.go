// Package shape says what a regular expression demands of every text that it
// matches: the literals one of which the text must hold, how far it can reach
// from there, and which bytes it can be made of. The generator of the rule
// table uses it to decide where a rule needs to look; the hook never links it.
//
// Two letters are left out throughout: U+017F (long s) and U+212A (kelvin),
// which (?i) folds into s and k. No token is written with them, and with them
// no letter would be one byte.
package shape

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Set is a set of bytes, one bit each, the lowest bit of the first byte first.
type Set [32]byte

// Add adds b to the set.
func (s *Set) Add(b byte) { s[b>>3] |= 1 << (b & 7) }

// Has reports whether b is in the set.
func (s Set) Has(b byte) bool { return s[b>>3]>>(b&7)&1 != 0 }

// Union adds all of t to the set.
func (s *Set) Union(t Set) {
	for i := range s {
		s[i] |= t[i]
	}
}

// Meets reports whether the two sets share a byte.
func (s Set) Meets(t Set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// Within reports whether every byte of s is in t.
func (s Set) Within(t Set) bool {
	for i := range s {
		if s[i]&^t[i] != 0 {
			return false
		}
	}
	return true
}

// String shows the set as a character class.
func (s Set) String() string {
	var b strings.Builder
	for lo := 0; lo < 256; lo++ {
		if !s.Has(byte(lo)) {
			continue
		}
		hi := lo
		for hi < 255 && s.Has(byte(hi+1)) {
			hi++
		}
		fmt.Fprintf(&b, "%q", []byte{byte(lo)})
		if hi > lo {
			fmt.Fprintf(&b, "-%q", []byte{byte(hi)})
		}
		lo = hi
	}
	return "[" + strings.ReplaceAll(b.String(), `"`, "") + "]"
}

// class gives the bytes that encode the runes of a character class, and the
// length of its longest rune. Runes beyond ASCII count as any bytes of theirs.
func class(re *syntax.Regexp) (s Set, longest int) {
	ranges := re.Rune
	switch re.Op {
	case syntax.OpAnyChar:
		ranges = []rune{0, unicode.MaxRune}
	case syntax.OpAnyCharNotNL:
		ranges = []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			switch {
			case r < utf8.RuneSelf:
				s.Add(byte(r))
				longest = 1
			case r != '\u017f' && r != '\u212a':
				for b := utf8.RuneSelf; b < 256; b++ {
					s.Add(byte(b))
				}
				return s, utf8.UTFMax // ranges are sorted: no ASCII comes after
			}
		}
	}
	return s, max(longest, 1)
}

// folded gives the two cases of an ASCII letter, or the byte alone.
func folded(b byte) (s Set) {
	s.Add(byte(unicode.ToLower(rune(b))))
	s.Add(byte(unicode.ToUpper(rune(b))))
	return s
}
