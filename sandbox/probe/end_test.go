package probe

import (
	"bytes"
	"strings"
	"testing"
)

// TestEnd: an end is heard as it was told, and nothing else is one.
func TestEnd(t *testing.T) {
	for _, code := range []int{0, 7, 137, 255} {
		var wire bytes.Buffer
		if err := TellEnd(&wire, code); err != nil {
			t.Fatal(err)
		}
		if got, err := HearEnd(&wire); got != code || err != nil {
			t.Errorf("%d is heard as %d: %v", code, got, err)
		}
	}
	for _, said := range []string{"", "end 0", "end \n", "end -1\n", "end 256\n", "0\n", "end 0x1\n", "begin 0\n", "end 000000000000000000007\n"} {
		if code, err := HearEnd(strings.NewReader(said)); err == nil {
			t.Errorf("%q is heard as %d", said, code)
		}
	}
}
