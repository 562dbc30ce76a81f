package diag

import "fmt"

// Count is a number of things in words: "1 finding", "2 findings". The thing's
// plural takes an s.
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
