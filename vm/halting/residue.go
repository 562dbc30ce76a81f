package halting

import "math"

// residue is a congruence: all numbers r + k*m. With m = 0 it is the number r
// alone, with m = 1 every number (Granger, "Static analysis of arithmetical
// congruences").
type residue struct{ m, r int64 }

var every = residue{1, 0}

func exactly(n int64) residue { return residue{0, n} }

func modulo(a, m int64) int64 { return ((a % m) + m) % m }

func greatestDivisor(a, b int64) int64 {
	if a == math.MinInt64 || b == math.MinInt64 {
		return 1
	}
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// of reduces r modulo m >= 0; large moduli are given up, so that sums fit.
func of(m, r int64) residue {
	switch {
	case m == 0:
		return residue{0, r}
	case m > 1<<61:
		return every
	}
	return residue{m, modulo(r, m)}
}

// join is the least residue that holds both.
func (c residue) join(d residue) residue {
	if c == d {
		return c
	}
	difference := c.r - d.r
	if (difference <= c.r) != (d.r >= 0) {
		return every
	}
	g := greatestDivisor(greatestDivisor(c.m, d.m), difference)
	return of(g, c.r)
}

// plus is the residue of sums, minus of differences.
func (c residue) plus(d residue) residue {
	g := greatestDivisor(c.m, d.m)
	if g == 0 {
		if s := c.r + d.r; (s >= c.r) == (d.r >= 0) {
			return exactly(s)
		}
		return every
	}
	if g > 1<<61 {
		return every
	}
	return of(g, modulo(c.r, g)+modulo(d.r, g))
}

func (c residue) minus(d residue) residue {
	if d.r == math.MinInt64 {
		return every
	}
	return c.plus(of(d.m, -d.r))
}

// disjoint reports that no number is in both.
func (c residue) disjoint(d residue) bool {
	g := greatestDivisor(c.m, d.m)
	if g == 0 {
		return c.r != d.r
	}
	return modulo(c.r, g) != modulo(d.r, g)
}

// inward gives the greatest of its numbers <= high and the least >= low, or the
// bounds themselves where those do not fit.
func (c residue) inward(low, high int64) (int64, int64) {
	if c.m > 1 {
		if h := high - modulo(modulo(high, c.m)-c.r, c.m); h <= high {
			high = h
		}
		if l := low + modulo(c.r-modulo(low, c.m), c.m); l >= low {
			low = l
		}
	}
	return low, high
}
