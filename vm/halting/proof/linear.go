package proof

import "math"

// Variables of bounds: 0 is the constant 0, 1..4 the registers, fresh a value
// of which only its range is known.
const (
	fresh = 5
	vars  = 6
)

// none is the bound that says nothing.
const none = math.MaxInt64

// plus adds upper bounds. A sum that is too large is no bound, one that is too
// small the least number; both are sound, because they are not below the sum.
func plus(a, b int64) int64 {
	s := a + b
	switch {
	case a == none || b == none || a > 0 && b > 0 && s < 0:
		return none
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	}
	return s
}

// zone holds upper bounds on x_i - x_j.
type zone [vars][vars]int64

func unbounded() *zone {
	var z zone
	for i := range z {
		for j := range z[i] {
			if i != j {
				z[i][j] = none
			}
		}
	}
	return &z
}

func (z *zone) tighten(i, j int, c int64) { z[i][j] = min(z[i][j], c) }

// close makes every bound the least that follows from all; false means that
// nothing satisfies them.
func (z *zone) close() bool {
	for k := range z {
		for i := range z {
			for j := range z {
				z.tighten(i, j, plus(z[i][k], z[k][j]))
			}
		}
	}
	for i := range z {
		if z[i][i] < 0 {
			return false
		}
	}
	return true
}

// form is a linear expression: the sum of coef[i] * x_i, plus k.
type form struct {
	coef [vars]int64
	k    int64
	ok   bool // false: it could not be written in 64 bits
}

func variable(i int) form {
	f := form{ok: true}
	if i != 0 {
		f.coef[i] = 1
	}
	return f
}

func constant(k int64) form { return form{k: k, ok: true} }

// plus adds c times another form.
func (f form) plus(c int64, g form) form {
	f.ok = f.ok && g.ok
	for i := range f.coef {
		f.coef[i] += c * g.coef[i]
	}
	scaled := g.k * c
	if g.k == math.MinInt64 && c == -1 || scaled/c != g.k {
		f.ok = false
	}
	if s := f.k + scaled; (s >= f.k) == (scaled >= 0) {
		f.k = s
	} else {
		f.ok = false
	}
	return f
}

// upper is the least upper bound of a form that pairing its terms finds: each
// positive term with a negative one or with 0. The zone must be closed.
func (z *zone) upper(f form) int64 {
	if !f.ok {
		return none
	}
	return z.pair(&f.coef, f.k)
}

func (z *zone) pair(coef *[vars]int64, k int64) int64 {
	p, positive := first(coef, 1)
	if !positive {
		n, negative := first(coef, -1)
		if !negative {
			return k
		}
		coef[n]++
		defer func() { coef[n]-- }()
		return plus(z[0][n], z.pair(coef, k))
	}
	coef[p]--
	best := plus(z[p][0], z.pair(coef, k))
	for n := range coef {
		if coef[n] < 0 {
			coef[n]++
			best = min(best, plus(z[p][n], z.pair(coef, k)))
			coef[n]--
		}
	}
	coef[p]++
	return best
}

func first(coef *[vars]int64, sign int64) (int, bool) {
	for i, c := range coef {
		if c*sign > 0 {
			return i, true
		}
	}
	return 0, false
}

// lower is the greatest lower bound, the negative of upper of the negative.
func (z *zone) lower(f form) (int64, bool) {
	u := z.upper(form{ok: true}.plus(-1, f))
	if u == none || u == math.MinInt64 {
		return 0, false
	}
	return -u, true
}
