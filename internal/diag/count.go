package diag

import (
	"fmt"
	"strconv"
	"strings"
)

// Count is a number of things in words: "1 finding", "2 findings", "2 pushes". The plural
// takes s, or es where English spelling needs it.
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	for _, sound := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(thing, sound) {
			return fmt.Sprintf("%d %ses", n, thing)
		}
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Number is a number with its thousands apart.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
