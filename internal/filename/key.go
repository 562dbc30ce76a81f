// Package filename compares file names as any file system might on which they are checked out:
// two names that some file system treats as the same are equal here.
//
// Git keeps names as bytes. macOS and Windows fold case, and so do ext4 directories
// that were told to; HFS+ ignores characters without a shape and stores accents
// apart; Windows drops dots and spaces at the end, reads what follows a colon as a
// stream of the file before it, and gives long names short ones. A check that
// compares bytes protects a file on one of them only.
package filename

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Key is what all spellings of a name have in common: equal keys, one file
// somewhere. The name is one component of a path. The key is "" for a name that
// Windows takes for none, such as "..." or " ".
func Key(name string) string {
	name = fold(name)
	if before, _, stream := strings.Cut(name, ":"); stream && before != "" {
		name = before
	}
	return strings.TrimRight(name, " .")
}

// PathKey is the keys of a path's components, joined as they were.
func PathKey(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = Key(part)
	}
	return strings.Join(parts, "/")
}

// fold folds case, ignored characters and the ways to write an accent.
func fold(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return foldUnicode(name)
		}
	}
	return strings.ToLower(name)
}

// foldUnicode is Unicode's canonical caseless form (chapter 3.13, D145), without
// what is ignored by default. Bytes that are not UTF-8 stay.
func foldUnicode(name string) string {
	var shown strings.Builder
	each(name, func(r rune, raw string) {
		if !ignored(r) {
			shown.WriteString(raw)
		}
	})
	var folded strings.Builder
	each(norm.NFD.String(shown.String()), func(r rune, raw string) {
		if several, ok := full()[r]; ok {
			raw = several
		}
		each(raw, func(r rune, raw string) {
			if r == utf8.RuneError {
				folded.WriteString(raw)
			} else {
				folded.WriteRune(least(r))
			}
		})
	})
	return norm.NFD.String(folded.String())
}

// each calls f for every character with its bytes; utf8.RuneError stands for a byte
// that is none, too.
func each(s string, f func(r rune, raw string)) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		f(r, s[i:i+n])
		i += n
	}
}

// ignored reports the characters that HFS+ or ext4 leave out of a comparison, and
// others of their classes.
func ignored(r rune) bool {
	return r >= 0x80 && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// least is the least of the characters that differ from r only in case, in lower
// case if it is a letter of ASCII. The i without a dot is an i: where capital letters
// are compared, it is.
func least(r rune) rune {
	if r == 'ı' {
		return 'i'
	}
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		first = min(first, next)
	}
	if first >= 'A' && first <= 'Z' {
		first += 'a' - 'A'
	}
	return first
}
