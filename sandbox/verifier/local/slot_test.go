package local

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSlots: two verifications at once have two numbers, and who comes after one that
// ended has its number.
func TestSlots(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	take := func(want int) *os.File {
		t.Helper()
		f, number, err := takeSlot(bare)
		if err != nil || number != want {
			t.Fatalf("number %d, want %d: %v", number, want, err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	first := take(0)
	take(1)
	first.Close()
	take(0)
	for n := 2; n < maxSlots; n++ {
		take(n)
	}
	if _, _, err := takeSlot(bare); err == nil {
		t.Error("there is no end to them")
	}
}
