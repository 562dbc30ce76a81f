package lines

import (
	"strings"
	"testing"
)

// TestHead: the first bytes are kept, whatever the writes are cut into, and no write fails.
func TestHead(t *testing.T) {
	for _, c := range []struct{ most, want int }{{0, 2 << 10}, {5, 5}, {9000, 3000}} {
		h := Head{Most: c.most}
		for range 1000 {
			if n, err := h.Write([]byte("abc")); n != 3 || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := h.String(); len(got) != c.want || !strings.HasPrefix(strings.Repeat("abc", 1000), got) || string(h.Bytes()) != got {
			t.Errorf("%d: %d bytes", c.most, len(got))
		}
	}
}
