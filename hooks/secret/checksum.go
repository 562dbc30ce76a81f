package secret

import "iter"

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
