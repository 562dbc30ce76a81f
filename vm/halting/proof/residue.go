package proof

// gcd of the absolute values; gcd(0, n) is n. MinInt64 does not occur: residues
// with such a modulus are refused.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// valid: m is not negative, and r lies in [0, m) unless m is 0.
func (c Residue) valid() bool {
	return c[0] == 0 || c[0] > 0 && c[1] >= 0 && c[1] < c[0]
}

// anything is the residue that says nothing.
var anything = Residue{1, 0}

// residue makes a valid one from a modulus >= 0 and any number.
func residue(m, r int64) Residue {
	if m == 0 {
		return Residue{0, r}
	}
	r %= m
	if r < 0 {
		r += m
	}
	return Residue{m, r}
}

// within reports whether every number of c is one of d.
func (c Residue) within(d Residue) bool {
	if d[0] == 0 {
		return c == d
	}
	return c[0]%d[0] == 0 && residue(d[0], c[1]) == d
}

// meets reports whether some number may be in both.
func (c Residue) meets(d Residue) bool {
	g := gcd(c[0], d[0])
	if g == 0 {
		return c[1] == d[1]
	}
	return residue(g, c[1]) == residue(g, d[1])
}

// times is the residue of k times a number.
func (c Residue) times(k int64) Residue {
	if k == 1 {
		return c
	}
	if k == -1 && c[0] > 0 {
		return residue(c[0], -c[1])
	}
	if k == -1 && c[1] != -c[1] {
		return Residue{0, -c[1]}
	}
	if k == 0 || c == (Residue{}) {
		return Residue{}
	}
	return anything
}

// plus is the residue of a sum.
func (c Residue) plus(d Residue) Residue {
	g := gcd(c[0], d[0])
	if g == 0 {
		if s := c[1] + d[1]; (s >= c[1]) == (d[1] >= 0) {
			return Residue{0, s}
		}
		return anything
	}
	// Reduced first, both are below g, so that the sum may only wrap for a
	// modulus over 2^62.
	if g > 1<<62 {
		return anything
	}
	return residue(g, residue(g, c[1])[1]+residue(g, d[1])[1])
}

// above is the least number >= n of the residue, below the greatest <= n; n
// itself where that does not fit.
func (c Residue) above(n int64) int64 {
	if c[0] <= 1 {
		return n
	}
	if s := n + residue(c[0], c[1]-residue(c[0], n)[1])[1]; s >= n {
		return s
	}
	return n
}

func (c Residue) below(n int64) int64 {
	if c[0] <= 1 {
		return n
	}
	if s := n - residue(c[0], residue(c[0], n)[1]-c[1])[1]; s <= n {
		return s
	}
	return n
}
