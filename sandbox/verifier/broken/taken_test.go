package broken

import (
	"slices"
	"testing"
)

// TestReplaced: a test that runs twice says of each run whose function it found.
func TestReplaced(t *testing.T) {
	for _, said := range []string{"W:replaced:1:time.time\t\nW:replaced:1:time.time\ttests/test_x.py\n", "W:replaced:1:time.time\ttests/test_x.py\r\nW:1:fail\nW:replaced:1:time.time\t\r\n"} {
		by := Replaced("W", said+"W:replaced:x:time.time\t\nW:replaced:2:node:assert.ok\tx.js\n")
		one := by[Found{Label: "time.time"}][1]
		slices.Sort(one)
		if !slices.Equal(one, []string{"", "tests/test_x.py"}) || !slices.Equal(by[Found{Label: "node:assert.ok"}][2], []string{"x.js"}) {
			t.Error(by)
		}
	}
}
