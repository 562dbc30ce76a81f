package verifier

import (
	"strings"
	"testing"

	"git-ward/sandbox/podman"
)

// TestHoldPasses: the word is not its command's, however it comes, and all else passes.
func TestHoldPasses(t *testing.T) {
	for _, size := range []int{1, 3, 26, 27, 1 << 20} {
		for _, before := range []string{"", "setup\n", strings.Repeat("x", 100_000)} {
			h := newHold("/work")
			word := h.word
			var passed strings.Builder
			s := h.streams()
			if n, err := s.Stdout.Write([]byte("nobody's")); n != 8 || err != nil {
				t.Fatal(n, err)
			}
			h.to = podman.Streams{Stdout: &passed}
			text := before + word + "\nthe command's\n" + word + "\n"
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				if got, err := s.Stdout.Write([]byte(rest[:n])); err != nil || got != n {
					t.Fatal(got, err)
				}
				rest = rest[n:]
			}
			if want := before + "the command's\n" + word + "\n"; passed.String() != want {
				t.Errorf("%d bytes at once, %d before: %d bytes passed, not %d", size, len(before), passed.Len(), len(want))
			}
			select {
			case <-h.ready:
			default:
				t.Error("the word is not heard")
			}
		}
	}
}
