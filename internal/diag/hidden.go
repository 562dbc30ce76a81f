package diag

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden is a place in a text that a reader cannot see, or that a terminal obeys:
// the character, or byte, from At on.
type Hidden struct {
	At, Size int
	What     string // such as "the control character U+001B"
}

// NotUTF8 is Hidden.What of a byte that is not UTF-8.
const NotUTF8 = "invalid UTF-8"

// FindHidden finds the first hidden character of a text: controls and escapes,
// characters that reorder text (Unicode TR 36, CVE-2021-42574), characters without
// a shape of their own, and bytes that are not UTF-8. What writing needs is not
// hidden: joiners in the scripts that join, marks of direction in right-to-left
// text, selectors behind what they select, the parts of an emoji. Lines says that
// the text may have several: tabs and line ends are fine then.
func FindHidden(text string, lines bool) (h Hidden, found bool) {
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f || lines && plainLine(text, i) {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if what := hiddenAt(text, i, r, n); what != "" {
			return Hidden{i, n, what}, true
		}
		i += n
	}
	return Hidden{}, false
}

// plainLine reports whether the byte at i belongs to the form of lines. A carriage
// return does at a line's end only: elsewhere a terminal writes over the line.
func plainLine(text string, i int) bool {
	switch text[i] {
	case '\n', '\t':
		return true
	case '\r':
		return i+1 < len(text) && text[i+1] == '\n'
	}
	return false
}

// hiddenAt says why the character r of n bytes at i is invisible, "" if it is visible.
func hiddenAt(s string, i int, r rune, n int) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return NotUTF8
	case unicode.IsControl(r):
		return fmt.Sprintf("the control character %U", r)
	case r < 0xa0 || !mayHide(r):
		return ""
	case unicode.Is(unicode.Bidi_Control, r):
		if isMark(r) && nearRightToLeft(s, i, i+n) {
			return ""
		}
		return fmt.Sprintf("the bidirectional control %U", r)
	case needed(s, i, r, n):
		return ""
	}
	return fmt.Sprintf("the invisible character %U", r)
}

// blank is what has no shape and is of none of the classes that say so: the braille
// pattern without dots.
const blank = '\u2800'

// mayHide reports whether r is of a class that has no shape of its own: format
// characters, what is ignored by default (joiners, fillers, tags, selectors), and
// line separators.
func mayHide(r rune) bool {
	if r >= 0x4e00 && r < 0xa000 || r >= 0xac00 && r < 0xd7a4 { // most of Chinese and Korean text
		return false
	}
	return r == blank || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Zl, unicode.Zp) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // these are drawn
}

// isMark reports the bidirectional controls that only mark a direction. The others
// open a span, which can take in more than the script's own text.
func isMark(r rune) bool { return r == '\u200e' || r == '\u200f' || r == '\u061c' }

// nearRightToLeft reports whether a mark at s[from:to] has a right-to-left letter
// near it on its line, and does not part a left-to-right word.
func nearRightToLeft(s string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	after, _ := utf8.DecodeRuneInString(s[to:])
	if unicode.IsLetter(before) && unicode.IsLetter(after) && !isRightToLeft(before) && !isRightToLeft(after) {
		return false
	}
	const far = 32
	for range far {
		r, n := utf8.DecodeLastRuneInString(s[:from])
		if n == 0 || r == '\n' {
			break
		}
		if isRightToLeft(r) {
			return true
		}
		from -= n
	}
	for range far {
		r, n := utf8.DecodeRuneInString(s[to:])
		if n == 0 || r == '\n' {
			break
		}
		if isRightToLeft(r) {
			return true
		}
		to += n
	}
	return false
}

// isRightToLeft reports letters of the blocks that Unicode keeps for scripts that
// are written from right to left.
func isRightToLeft(r rune) bool {
	return unicode.IsLetter(r) && (r >= 0x590 && r < 0x900 || r >= 0xfb1d && r < 0xfe00 || r >= 0xfe70 && r < 0xff00 ||
		r >= 0x10800 && r < 0x11000 || r >= 0x1e800 && r < 0x1f000)
}

// needed reports whether the writing around it needs r.
func needed(s string, i int, r rune, n int) bool {
	before, size := utf8.DecodeLastRuneInString(s[:i])
	if size == 0 {
		before = 0
	}
	after, size := utf8.DecodeRuneInString(s[i+n:])
	if size == 0 {
		after = 0
	}
	switch {
	case r == '\u200c':
		return joins(s[:i])
	case r == '\u200d':
		return joins(s[:i]) || isPictograph(after) && endsInPictograph(s[:i])
	case r == '\ufe0f' || r == '\ufe0e':
		return isPictograph(before) || after == '\u20e3' && strings.ContainsRune("0123456789#*", before)
	case r >= '\ufe00' && r <= '\ufe02':
		return unicode.In(before, unicode.Han, unicode.Sm, unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean)
	case r >= 0xe0100 && r <= 0xe01ef:
		return unicode.Is(unicode.Han, before) // names of people and places
	case r >= '\u180b' && r <= '\u180f':
		return unicode.Is(unicode.Mongolian, before) && unicode.IsLetter(before)
	case r == '\u034f':
		return unicode.IsMark(before) && before != r && unicode.IsMark(after) && after != r
	case r == blank:
		return isBraille(before) || isBraille(after)
	case r >= 0x13430 && r <= 0x1345f:
		return unicode.Is(unicode.Egyptian_Hieroglyphs, before) && !unicode.Is(unicode.Cf, before)
	case r >= 0xe0020 && r <= 0xe007f:
		return inFlag(s, i)
	}
	return false
}

func isBraille(r rune) bool { return r > blank && r <= '\u28ff' }

// joins reports whether text ends in a letter, with its marks, of a script whose
// letters join.
func joins(text string) bool {
	const marks = 8
	for range marks {
		r, n := utf8.DecodeLastRuneInString(text)
		if n == 0 {
			return false
		}
		if !unicode.IsMark(r) || mayHide(r) {
			return unicode.IsLetter(r) && unicode.In(r, joining...)
		}
		text = text[:len(text)-n]
	}
	return false
}

// endsInPictograph reports whether text ends in a pictograph, with its skin tone,
// selector or flag's tags.
func endsInPictograph(text string) bool {
	r, n := utf8.DecodeLastRuneInString(text)
	if r == '\ufe0f' || r >= 0x1f3fb && r <= 0x1f3ff {
		r, _ = utf8.DecodeLastRuneInString(text[:len(text)-n])
	}
	return isPictograph(r)
}

// flags are the tags that people send, of the flags of England, Scotland and Wales.
// Any other text in tags is a message that nobody sees.
var flags = []string{flag("gbeng"), flag("gbsct"), flag("gbwls")}

func flag(region string) string {
	runes := []rune{0x1f3f4}
	for _, ch := range region {
		runes = append(runes, 0xe0000+ch)
	}
	return string(append(runes, 0xe007f))
}

// inFlag reports whether the tag at i is one of a flag's.
func inFlag(s string, i int) bool {
	start := strings.LastIndex(s[max(0, i-len(flags[0])):i], "\U0001f3f4")
	if start < 0 {
		return false
	}
	start += max(0, i-len(flags[0]))
	for _, f := range flags {
		if strings.HasPrefix(s[start:], f) {
			return i < start+len(f)
		}
	}
	return false
}
