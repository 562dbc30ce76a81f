package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/token"
)

// Ended is a push that its door ended at a limit (GATE-6). It may not have reached a hook, so
// that only the door knows of it.
type Ended struct{ Push, Principal, Name, Rule string }

// ParseEnded reads the four words as a door gives them, joined by colons; the name may be
// empty.
func ParseEnded(text string) (e Ended, err error) {
	words := strings.Split(text, ":")
	if len(words) != 4 {
		return e, fmt.Errorf("%q is not PUSH:PRINCIPAL:NAME:RULE", text)
	}
	return Ended{words[0], words[1], words[2], words[3]}, token.CheckID(words[0])
}

// RecordEnded records such a push: as a refusal by the limit if it moved nothing, or by the
// reflogs if it had been admitted. None of its processes may still run.
func RecordEnded(ctx context.Context, repo *git.Repo, batch *git.Batch, e Ended) error {
	all, _, err := LoadPending(repo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, p := range all {
		if p.Record.Push != e.Push {
			continue
		}
		if p.State != Arrived {
			return p.reconcile(ctx, repo, batch)
		}
		p.Record.Verdict, p.Record.Rules, p.Record.Reconciled = Refused, []string{e.Rule}, true
		return p.Refuse(ctx, repo, batch)
	}
	// Its hook may have recorded it, and others their pushes since.
	looked := 0
	for r, err := range recordsSince(batch, git.Zero) {
		if err != nil || r.Push == e.Push {
			return err
		}
		if looked++; looked >= maxLook {
			break
		}
	}
	return Refuse(ctx, repo, batch, &Record{
		Time: time.Now().UTC().Truncate(time.Millisecond), Principal: e.Principal, Name: e.Name, User: fmt.Sprint(os.Geteuid()), Push: e.Push,
		Verdict: Refused, Refs: []Ref{}, Rules: []string{e.Rule},
	})
}
