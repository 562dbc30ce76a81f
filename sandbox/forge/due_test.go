package forge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/protocols/forge"
)

// TestDue: what was refused is asked about once, however many refs that are: those that a word
// cannot name are known by their marks, and take the places of others that are mended.
func TestDue(t *testing.T) {
	p := &pass{Syncer: &Syncer{Settings: config.Default()}}
	here, there := map[string]string{}, map[string]string{}
	for i := range maxSaidOf + 100 {
		there[fmt.Sprintf("%sb%03d", heads, i)] = strings.Repeat("a", 40)
	}
	// The gate refuses all that is asked about.
	look := func() int {
		wanted := p.due(here, there)
		for _, ref := range wanted {
			p.stop(forge.Stopping{Ref: ref, Commit: there[ref], Why: "refused"})
		}
		p.word = bound(p.word)
		return len(wanted)
	}
	if n := look(); n != len(there) || len(p.word.Stopped) != maxSaidOf || len(p.word.Beyond) != 100 {
		t.Fatalf("%d: %d named, %d more", n, len(p.word.Stopped), len(p.word.Beyond))
	}
	if n := look(); n != 0 || len(p.word.Stopped) != maxSaidOf || len(p.word.Beyond) != 100 {
		t.Fatalf("the second look asks about %d again: %d named, %d more", n, len(p.word.Stopped), len(p.word.Beyond))
	}
	for i := range 30 { // the PM lets these in
		ref := fmt.Sprintf("%sb%03d", heads, i)
		here[ref] = there[ref]
	}
	if n := look(); n != 30 || len(p.word.Stopped) != maxSaidOf || len(p.word.Beyond) != 70 {
		t.Fatalf("%d: %d named, %d more", n, len(p.word.Stopped), len(p.word.Beyond))
	}
	moved := fmt.Sprintf("%sb%03d", heads, maxSaidOf+99) // one of those that have a mark
	there[moved] = strings.Repeat("b", 40)
	if wanted := p.due(here, there); !slices.Equal(wanted, []string{moved}) {
		t.Fatalf("%q", wanted)
	}
	// What failed for another reason than the gate's word is tried at each look.
	p.word = forge.Word{Stopped: []forge.Stopping{{Ref: moved, Commit: there[moved], Why: "no space", Again: true}}}
	if wanted := p.due(here, map[string]string{moved: there[moved]}); !slices.Equal(wanted, []string{moved}) {
		t.Fatalf("%q", wanted)
	}
}
