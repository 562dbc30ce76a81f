package secret

import (
	"crypto/sha256"
	"iter"
)

const (
	// maxLengths is how many secret lengths Fresh looks for, each in its own pass over the old
	// data.
	maxLengths = 64
	// maxCollisions is how many strings with a secret's checksum Fresh checks before it
	// assumes that the old data was crafted.
	maxCollisions = 16
)

// Fresh returns the findings whose secret is not in old, an older version of the
// data. What is published already is not a new finding, wherever it stood. The
// work is bounded; what it leaves undone counts as fresh.
func Fresh(found []Finding, old []byte) (fresh []Finding) {
	lookups := map[int]*lookup{}
	for _, f := range found {
		n := f.End - f.Start
		if lookups[n] == nil && len(lookups) < maxLengths {
			lookups[n] = &lookup{sums: map[uint64]bool{}, published: map[[sha256.Size]byte]bool{}}
		}
		if l := lookups[n]; l != nil {
			l.sums[f.sum], l.published[f.Fingerprint] = true, false
		}
	}
	for n, l := range lookups {
		l.search(old, n)
	}
	for _, f := range found {
		if l := lookups[f.End-f.Start]; l == nil || !l.published[f.Fingerprint] {
			fresh = append(fresh, f)
		}
	}
	return fresh
}

// lookup is a search for secrets of one length.
type lookup struct {
	sums      map[uint64]bool            // of the secrets not yet found
	published map[[sha256.Size]byte]bool // by fingerprint: whether it was found
}

func (l *lookup) search(old []byte, n int) {
	var filter [1 << 10]bool // by the end of a checksum: few get past it
	for sum := range l.sums {
		filter[sum%uint64(len(filter))] = true
	}
	collisions := 0
	for at, sum := range checksums(old, n) {
		if !filter[sum%uint64(len(filter))] || !l.sums[sum] {
			continue
		}
		fingerprint := sha256.Sum256(old[at : at+n])
		if _, wanted := l.published[fingerprint]; wanted {
			l.published[fingerprint] = true
			delete(l.sums, sum)
		} else if collisions++; collisions == maxCollisions {
			return
		}
		if len(l.sums) == 0 {
			return
		}
	}
}

// prime is the base of the checksum, a polynomial modulo 2^64 (Rabin and Karp).
const prime = 0x100000001b3

func checksum(b []byte) (sum uint64) {
	for _, c := range b {
		sum = sum*prime + uint64(c)
	}
	return sum
}

// checksums yields the checksum of every n bytes in a row, by where they begin,
// in one pass.
func checksums(data []byte, n int) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		if n < 0 || n > len(data) {
			return
		}
		power := uint64(1) // prime to the n-th: the weight of the byte that leaves
		for range n {
			power *= prime
		}
		sum := checksum(data[:n])
		for at := 0; yield(at, sum) && at+n < len(data); at++ {
			sum = sum*prime + uint64(data[at+n]) - power*uint64(data[at])
		}
	}
}
