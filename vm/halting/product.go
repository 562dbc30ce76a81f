package halting

import (
	"math"

	"git-ward/vm/halting/code"
)

// tool is CALL mul, div, mod, min or max: R0 gets a value in a range. It returns
// the possible errors, and whether the call can succeed at all.
func (o *outcome) tool(in *code.Inst) (ends []string, possible bool) {
	aLow, aHigh, _ := o.facts.operand(in.A)
	bLow, bHigh, _ := o.facts.operand(in.B)
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch in.Op {
	case code.Mul:
		var fits bool
		if low, high, fits = multiply(aLow, aHigh, bLow, bHigh); !fits {
			ends = append(ends, code.Overflow)
		}
	case code.Min:
		low, high = min(aLow, bLow), min(aHigh, bHigh)
	case code.Max:
		low, high = max(aLow, bLow), max(aHigh, bHigh)
	default:
		if bLow == 0 && bHigh == 0 {
			return []string{code.DivisionByZero}, false
		}
		if bLow <= 0 && bHigh >= 0 {
			ends = append(ends, code.DivisionByZero)
		}
		if in.Op == code.Div && aLow == math.MinInt64 && bLow <= -1 && bHigh >= -1 {
			ends = append(ends, code.Overflow)
		}
		low, high = divided(in.Op, aLow, aHigh, bLow, bHigh)
	}
	mod := every
	if low == high {
		mod = exactly(low)
	}
	o.assign(0, low, high, mod)
	return ends, true
}

// multiply is the range of products; without limits when one may not fit.
func multiply(aLow, aHigh, bLow, bHigh int64) (low, high int64, fits bool) {
	low, high = math.MaxInt64, math.MinInt64
	for _, a := range [2]int64{aLow, aHigh} {
		for _, b := range [2]int64{bLow, bHigh} {
			p, ok := code.Arith(code.Mul, a, b)
			if !ok {
				return math.MinInt64, math.MaxInt64, false
			}
			low, high = min(low, p), max(high, p)
		}
	}
	return low, high, true
}

// divided is the range of quotients or remainders by a divisor >= 1; for others
// only that they are not further from 0 than the dividend.
func divided(op code.Op, aLow, aHigh, bLow, bHigh int64) (low, high int64) {
	switch {
	case bLow >= 1 && op == code.Div:
		return min(aLow/bLow, aLow/bHigh), max(aHigh/bLow, aHigh/bHigh)
	case bLow >= 1:
		return max(min(aLow, 0), 1-bHigh), min(max(aHigh, 0), bHigh-1)
	case aLow == math.MinInt64:
		return math.MinInt64, math.MaxInt64
	case op == code.Mod:
		return min(aLow, 0), max(aHigh, 0)
	}
	far := max(aHigh, -aLow)
	return -far, far
}
