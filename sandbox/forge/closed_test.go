package forge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/protocols/review"
	"git-ward/protocols/uow"
	"git-ward/sandbox/forge/client"
)

// TestClosed: a unit whose request was closed is paused; one that is, or that waits for somebody,
// is only told of; and where the pause is refused that is not taken for one, and tried again.
func TestClosed(t *testing.T) {
	tier.First(t, "a guarded repository")
	bare, dir := gittest.New(t).Bare, t.TempDir()
	program, ran := filepath.Join(dir, "git-ward"), filepath.Join(dir, "ran")
	gittest.Program(t, program, "#!/bin/sh\necho >>"+ran+"\necho 'git-ward: error: the disk is full' >&2\nexit 1\n")
	p := &pass{Syncer: &Syncer{Repo: git.Open(bare), Settings: config.Default(), Ward: Verbs{Program: program, Bare: bare, Host: "forge.example"}, Log: zerolog.Nop()},
		ctx: t.Context(), self: client.Person{Login: "bot"}, wanted: map[string]bool{}}
	p.reader = p.Repo.Reader(p.ctx)
	defer p.reader.Close()
	for i, c := range []struct {
		state     uow.State
		closed    bool
		owes, err string
		runs      int
	}{
		{uow.Active, false, "", "the disk is full", 1},
		{uow.Paused, true, "D-1.1 is paused", "", 0},
		{uow.PendingApproval, true, "D-1.1 does not go on by itself", "", 0},
		{uow.Completed, true, "", "", 0},
	} {
		os.Remove(ran)
		r := request{Directive: "D-1"}
		b := &book{ref: fmt.Sprintf("%sD-%d", requestPrefix, i), old: git.Zero, record: &r, comments: &r.Comments}
		at := review.Position{Name: "D-1", Unit: &uow.Record{ID: "D-1.1", Directive: "D-1", State: c.state, Policy: uow.DefaultPolicy(), Hash: strings.Repeat("a", 64)}}
		err := p.closed(at, client.Request{}, &r, b)
		said, _ := os.ReadFile(ran)
		if fmt.Sprint(err) != map[bool]string{true: "<nil>", false: c.err}[c.err == ""] || r.Closed != c.closed || !strings.Contains(r.Comments.Owes, c.owes) || (c.owes == "") != (r.Comments.Owes == "") || len(said) != c.runs {
			t.Errorf("%s: %v, %+v, ran %d times", c.state, err, r, len(said))
		}
	}
}
