package broken

import (
	"maps"
	"testing"
)

// TestSaid: what tests say is found in whatever their runner prints around it.
func TestSaid(t *testing.T) {
	ends, ran := Said("W", "x_test.go:3: W:1:end\n{\"Output\":\"W:22:fail\\n\"}\nW: W:x:end W::end W:3:en\nW:4:end: Success W:1:fail")
	if !maps.Equal(ends, map[int]bool{1: true, 4: true}) || !maps.Equal(ran, map[int]bool{1: true, 4: true, 22: true}) {
		t.Error(ends, ran)
	}
}
