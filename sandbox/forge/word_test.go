package forge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/forge"
)

// TestWord: however much waits, and whatever it is called, the next look reads the word of it.
func TestWord(t *testing.T) {
	tier.First(t, "a guarded repository")
	repo := git.Open(gittest.New(t).Bare)
	p := &pass{Syncer: &Syncer{Repo: repo, Log: zerolog.Nop()}, ctx: t.Context(), reader: repo.Reader(t.Context())}
	defer p.reader.Close()
	for i := range 3000 {
		p.stop(forge.Stopping{Ref: fmt.Sprintf("refs/heads/\xff%d-%s", i, strings.Repeat("x", 200)), Why: "no"})
		p.trouble(fmt.Sprint("D-", i/2), fmt.Errorf("%s", strings.Repeat(`"`, 600)))
	}
	if len(p.word.Troubles) != 1500 {
		t.Errorf("%d troubles: one was said twice", len(p.word.Troubles))
	}
	if err := p.tell(); err != nil {
		t.Fatal(err)
	}
	w, old, err := load[forge.Word](p, forge.WordRef)
	if err != nil || old == git.Zero || len(w.Stopped) < 100 || len(w.Troubles) < 100 {
		t.Fatalf("%v: %d refs, %d troubles", err, len(w.Stopped), len(w.Troubles))
	}
	if last := w.Troubles[len(w.Troubles)-1].Why.String(); !strings.Contains(last, " troubles more") {
		t.Error(last)
	}
}
