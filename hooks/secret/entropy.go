package secret

import (
	"math"
	"unicode/utf8"
)

// entropy is Shannon's, in bits a character, as gitleaks computes it: it counts
// runes but divides by bytes.
func entropy(b []byte) (bits float64) {
	var ascii [utf8.RuneSelf]int
	var others map[rune]int
	for _, r := range string(b) {
		if r < utf8.RuneSelf {
			ascii[r]++
			continue
		}
		if others == nil {
			others = map[rune]int{}
		}
		others[r]++
	}
	add := func(count int) {
		if count > 0 {
			f := float64(count) / float64(len(b))
			bits -= f * math.Log2(f)
		}
	}
	for _, count := range ascii {
		add(count)
	}
	for _, count := range others {
		add(count)
	}
	return bits
}
