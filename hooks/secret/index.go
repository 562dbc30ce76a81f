package secret

import "iter"

// maxClasses is how many kinds of byte an index tells apart: a kind is a bit of
// a word and six bits of a pair.
const maxClasses = 64

// index finds many words in one pass. It looks at three bytes at a time: the first two select
// a mask, and the third a bit in it, which is set if a word may begin. That decides almost
// every position with two loads and no taken branch; the rest is compared word by word.
type index struct {
	class [256]uint8                      // by byte, case folded; 0: in no word
	third [maxClasses * maxClasses]uint64 // by pair: the classes that may follow
	first [maxClasses * maxClasses]uint16 // by pair: one more than a word of it
	next  []uint16                        // by word: one more than the next of its pair
	words []word
}

type word struct {
	text string // at least two bytes; in lower case if fold
	fold bool
}

func newIndex(words []word) *index {
	x := &index{words: words, next: make([]uint16, len(words))}
	classes := uint8(0)
	for _, w := range words {
		for _, b := range []byte(w.text) {
			if b = lower(b); x.class[b] == 0 {
				classes++ // a test sees to it that there are fewer than maxClasses
				x.class[b] = classes
			}
		}
	}
	for b := 'A'; b <= 'Z'; b++ {
		x.class[b] = x.class[b|0x20]
	}
	for i, w := range words {
		pair := x.pair(w.text[0], w.text[1])
		if len(w.text) == 2 {
			x.third[pair] = ^uint64(0)
		} else {
			x.third[pair] |= 1 << x.class[w.text[2]]
		}
		x.next[i], x.first[pair] = x.first[pair], uint16(i+1)
	}
	return x
}

func (x *index) pair(a, b byte) uint {
	return uint(x.class[a])*maxClasses + uint(x.class[b])
}

// hits yields where words begin in data, and which words they are.
func (x *index) hits(data []byte) iter.Seq2[int, int] {
	return func(yield func(at, word int) bool) {
		if len(data) < 2 {
			return
		}
		pair := x.pair(data[0], data[1])
		for i, b := range data[2:] {
			class := uint(x.class[b])
			if x.third[pair%uint(len(x.third))]>>(class%maxClasses)&1 != 0 && !x.compare(data, i, pair, yield) {
				return
			}
			pair = pair*maxClasses%uint(len(x.third)) + class
		}
		if x.third[pair]&1 != 0 { // a word of two bytes
			x.compare(data, len(data)-2, pair, yield)
		}
	}
}

// compare yields the words of a pair that begin at a place.
func (x *index) compare(data []byte, at int, pair uint, yield func(at, word int) bool) bool {
	for w := x.first[pair]; w != 0; w = x.next[w-1] {
		if x.words[w-1].begins(data[at:]) && !yield(at, int(w-1)) {
			return false
		}
	}
	return true
}

func (w word) begins(data []byte) bool {
	if len(data) < len(w.text) {
		return false
	}
	if !w.fold {
		return string(data[:len(w.text)]) == w.text
	}
	for i := range len(w.text) {
		if lower(data[i]) != w.text[i] {
			return false
		}
	}
	return true
}

// found reports whether any word is in data.
func (x *index) found(data []byte) bool {
	for range x.hits(data) {
		return true
	}
	return false
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b | 0x20
	}
	return b
}
