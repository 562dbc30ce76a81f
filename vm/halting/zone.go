package halting

import (
	"math"

	"git-ward/vm/halting/code"
)

// open is the bound that says nothing.
const open = math.MaxInt64

// dims are the variables of a zone: 0 stands for the constant 0, 1..4 for the
// registers.
const dims = code.Registers + 1

// zone is a difference-bound matrix: at [i][j] the least known c with
// x_i - x_j <= c, or open (Miné, "A new numerical abstract domain based on
// difference-bound matrices").
type zone [dims][dims]int64

// far is how large a bound may be. Larger ones are weakened, which is sound and
// keeps sums of two from overflowing.
const far = 1<<62 - 1

func weaken(c int64) int64 {
	if c > far {
		return open
	}
	return max(c, -far)
}

func sum(a, b int64) int64 {
	if a > far || b > far {
		return open
	}
	return weaken(max(a, -far) + max(b, -far))
}

func (z *zone) cut(i, j int, c int64) { z[i][j] = min(z[i][j], weaken(c)) }

// close propagates all bounds; false when none satisfy them.
func (z *zone) close() bool {
	for k := range dims {
		for i := range dims {
			if ik := z[i][k]; ik != open {
				for j := range dims {
					z.cut(i, j, sum(ik, z[k][j]))
				}
			}
		}
	}
	for i := range dims {
		if z[i][i] < 0 {
			return false
		}
	}
	return true
}

// high is the greatest value of a variable, low the least.
func (z *zone) high(v int) int64 { return z[v][0] }

func (z *zone) low(v int) int64 {
	if b := z[0][v]; b != open {
		return -b
	}
	return math.MinInt64
}

// drop forgets a variable.
func (z *zone) drop(v int) {
	for i := range dims {
		z[v][i], z[i][v] = open, open
	}
	z[v][v] = 0
}

// bound sets the range of a variable that was dropped.
func (z *zone) bound(v int, low, high int64) {
	z.cut(v, 0, high)
	if low != math.MinInt64 {
		z.cut(0, v, -low)
	}
	z.close()
}

// copyOf makes variable v equal to w.
func (z *zone) copyOf(v, w int) {
	if v == w {
		return
	}
	z.drop(v)
	z[v][w], z[w][v] = 0, 0
	z.close()
}

// shift adds a number in [low, high] to a variable, for which the numbers must
// be bounds that negate.
func (z *zone) shift(v int, low, high int64) {
	for i := range dims {
		if i != v {
			z[v][i] = sum(z[v][i], high)
			if low == math.MinInt64 {
				z[i][v] = open
			} else {
				z[i][v] = sum(z[i][v], -low)
			}
		}
	}
}

// join keeps the bounds that hold in both.
func (z *zone) join(o *zone) (changed bool) {
	for i := range dims {
		for j := range dims {
			if o[i][j] > z[i][j] {
				z[i][j], changed = o[i][j], true
			}
		}
	}
	return changed
}

// widen is join that gives bounds up faster: a growing bound goes to the next of
// the thresholds (ascending).
func (z *zone) widen(o *zone, thresholds []int64) (changed bool) {
	for i := range dims {
		for j := range dims {
			if o[i][j] > z[i][j] {
				z[i][j], changed = nextThreshold(thresholds, o[i][j]), true
			}
		}
	}
	return changed
}

func nextThreshold(thresholds []int64, c int64) int64 {
	for _, t := range thresholds {
		if t >= c {
			return t
		}
	}
	return open
}
