// Package decimal reads and compares the decimal numbers of residuals, tolerances, scores and
// confidences, exactly (seed 003, section 13). It uses no floats: 0.1 + 0.2 is 0.3 here, 1e400
// is a number, and a text that is not a plain decimal is an error, never zero.
//
// The arithmetic is math/big's rationals, which hold every decimal exactly; this
// package adds the one grammar that Ward accepts, and its bounds. A decimal library
// (cockroachdb/apd) would do the same work, but the hooks link this package, and
// that library's tables cost them 1.0 ms at every start; the fuzz test uses it as
// the oracle.
package decimal

import (
	"fmt"
	"math/big"
	"strings"
)

// The bounds of a number's text: exact arithmetic on it stays cheap.
const (
	MaxLen      = 64 // bytes
	maxExponent = 3  // digits
)

// Decimal is a number of at least zero. The zero Decimal is null: an unknown number, for which
// every comparison is false.
type Decimal struct {
	text  string
	value *big.Rat
}

// Parse reads digits[.digits][e[+-]digits], the form of a JSON number without a
// sign. Leading zeros, signs, blanks, NaN and infinities are errors: a distance
// is never below zero, and a residual that cannot be read is not a small one.
func Parse(s string) (Decimal, error) {
	if problem := fault(s); problem != "" {
		return Decimal{}, fmt.Errorf("%.80q %s", s, problem)
	}
	value, ok := new(big.Rat).SetString(s)
	if !ok {
		return Decimal{}, fmt.Errorf("%.80q is not a decimal number", s)
	}
	return Decimal{s, value}, nil
}

func fault(s string) string {
	const form = "is not a decimal number of the form 12, 0.25 or 1e-10"
	if len(s) > MaxLen {
		return fmt.Sprintf("is longer than %d bytes", MaxLen)
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
		if exponent != "" && (exponent[0] == '-' || exponent[0] == '+') {
			exponent = exponent[1:]
		}
		if !digits(exponent) || len(exponent) > maxExponent {
			return form + fmt.Sprintf(" with at most %d digits of exponent", maxExponent)
		}
	}
	whole, fraction, hasFraction := strings.Cut(mantissa, ".")
	if !digits(whole) || hasFraction && !digits(fraction) {
		return form
	}
	if len(whole) > 1 && whole[0] == '0' {
		return "has a leading zero"
	}
	return ""
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// IsNull reports whether the number is not known.
func (d Decimal) IsNull() bool { return d.value == nil }

// String is the number exactly as it was written; "" for null.
func (d Decimal) String() string { return d.text }

// Zero reports whether the number is known and zero. Null is not zero. (It is not
// called IsZero, which encoders take for "leave it out".)
func (d Decimal) Zero() bool { return d.value != nil && d.value.Sign() == 0 }

// Less reports whether d < e. It is false when either is null: null proves
// nothing.
func (d Decimal) Less(e Decimal) bool {
	return d.value != nil && e.value != nil && d.value.Cmp(e.value) < 0
}

// Equal reports whether both are known and the same number, however written.
func (d Decimal) Equal(e Decimal) bool {
	return d.value != nil && e.value != nil && d.value.Cmp(e.value) == 0
}

// Portion scales d to whole parts of max, from 0 to parts, rounded down. It is for pictures
// only, never for a decision. It is 0 when either is null or max is 0.
func (d Decimal) Portion(max Decimal, parts int64) int64 {
	if d.value == nil || max.value == nil || max.Zero() {
		return 0
	}
	if !d.Less(max) {
		return parts
	}
	q := new(big.Rat).Quo(d.value, max.value)
	q.Mul(q, new(big.Rat).SetInt64(parts))
	return new(big.Int).Quo(q.Num(), q.Denom()).Int64() // below parts
}
