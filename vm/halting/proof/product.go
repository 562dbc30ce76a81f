package proof

import (
	"math"
	"math/big"

	"git-ward/vm/halting/code"
)

// product is CALL mul, div, mod, min or max: the result is a number in a range
// that the operands' ranges give.
func (e *edge) product(in *code.Inst) (ends []string) {
	a, _ := operand(in.A, &e.mod)
	b, _ := operand(in.B, &e.mod)
	aLow, aHigh := span(e.zone, a)
	bLow, bHigh := span(e.zone, b)
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch in.Op {
	case code.Mul:
		var fits bool
		if low, high, fits = multiplied(aLow, aHigh, bLow, bHigh); !fits {
			ends = []string{code.Overflow}
		}
	case code.Min:
		low, high = min(aLow, bLow), min(aHigh, bHigh)
	case code.Max:
		low, high = max(aLow, bLow), max(aHigh, bHigh)
	case code.Div, code.Mod:
		if bLow == 0 && bHigh == 0 {
			return []string{always}
		}
		if bLow <= 0 && bHigh >= 0 {
			ends = append(ends, code.DivisionByZero)
		}
		if in.Op == code.Div && aLow == math.MinInt64 && bLow <= -1 && bHigh >= -1 {
			ends = append(ends, code.Overflow)
		}
		low, high = quotient(in.Op, aLow, aHigh, bLow, bHigh)
	}
	mod := anything
	if low == high {
		mod = Residue{0, low}
	}
	e.assign(0, ranged(e, low, high), mod)
	return ends
}

// multiplied is the range of a product; fits is false when it may leave 64 bits,
// and then the range is that of the products that do not.
func multiplied(aLow, aHigh, bLow, bHigh int64) (low, high int64, fits bool) {
	var least, most *big.Int
	for _, a := range []int64{aLow, aHigh} {
		for _, b := range []int64{bLow, bHigh} {
			p := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
			if least == nil || p.Cmp(least) < 0 {
				least = p
			}
			if most == nil || p.Cmp(most) > 0 {
				most = p
			}
		}
	}
	low, high, fits = math.MinInt64, math.MaxInt64, least.IsInt64() && most.IsInt64()
	if least.IsInt64() {
		low = least.Int64()
	}
	if most.IsInt64() {
		high = most.Int64()
	}
	return low, high, fits
}

// quotient is the range of a quotient or remainder: a quotient is not further
// from 0 than its dividend, a remainder neither, has its sign, and is nearer to
// 0 than the divisor.
func quotient(op code.Op, aLow, aHigh, bLow, bHigh int64) (low, high int64) {
	low, high = min(aLow, 0), max(aHigh, 0)
	if op == code.Div {
		if bLow >= 1 {
			return min(aLow/bLow, aLow/bHigh), max(aHigh/bLow, aHigh/bHigh)
		}
		// The divisor may be negative: either sign.
		if aLow == math.MinInt64 {
			return math.MinInt64, math.MaxInt64
		}
		far := max(-aLow, aHigh, aLow, -aHigh)
		return -far, far
	}
	if bLow == math.MinInt64 {
		return low, high
	}
	far := max(bHigh, -bLow) - 1
	return max(low, -far), min(high, far)
}
