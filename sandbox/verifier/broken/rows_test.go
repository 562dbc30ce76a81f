package broken

import "testing"

// TestTitled: a row whose name stands in its test's text has nothing of the work's in it.
func TestTitled(t *testing.T) {
	const text = `{"is one", 1}, {"two/three", 2}`
	for row, want := range map[string]bool{
		"1:TestA/is_one": true, "1:TestA/is_one" + Started: true, "1:TestA/B/is_one": true,
		"1:TestA/one": false, "1:TestA/1": false, "1:TestA/is_one#01": false,
		"1:TestA: the loop in line 3": true,
	} {
		if Titled(row, text) != want {
			t.Errorf("%q: not %v", row, want)
		}
	}
}
