package code

import (
	"math"

	"git-ward/vm"
)

// addChecked gives a + b, and false when it does not fit.
func addChecked(a, b int64) (int64, bool) {
	s := a + b
	return s, (s >= a) == (b >= 0)
}

func subChecked(a, b int64) (int64, bool) {
	d := a - b
	return d, (d <= a) == (b >= 0)
}

func mulChecked(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	p := a * b
	return p, p/b == a && !(a == -1 && b == math.MinInt64) && !(b == -1 && a == math.MinInt64)
}

// Arith computes a binary operation on signed 64-bit numbers; false means that
// the machine ends with an error (overflow, or division by zero).
func Arith(op Op, a, b int64) (int64, bool) {
	switch op {
	case Add:
		return addChecked(a, b)
	case Sub:
		return subChecked(a, b)
	case Mul:
		return mulChecked(a, b)
	case Div, Mod:
		return divide(op, a, b)
	case Min:
		return min(a, b), true
	case Max:
		return max(a, b), true
	}
	return 0, false
}

func divide(op Op, a, b int64) (int64, bool) {
	switch {
	case b == 0:
		return 0, false
	case op == Mod && b == -1:
		return 0, true
	case op == Mod:
		return a % b, true
	case b == -1:
		return subChecked(0, a)
	}
	return a / b, true
}

// ArithError is the error with which Arith fails.
func ArithError(op Op, b int64) string {
	if (op == Div || op == Mod) && b == 0 {
		return DivisionByZero
	}
	return Overflow
}

// The errors of arithmetic and of jumps, by the machine's names.
const (
	Overflow       = string(vm.IntegerOverflow)
	DivisionByZero = string(vm.DivisionByZero)
	FlagsUnset     = string(vm.FlagsUnset)
)
