package judge

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
	"git-ward/sandbox/verifier"
)

// NotBefore returns a claim's base, but no commit older than the project's tip when the unit
// became active (PROOF-1): otherwise an agent could start from an old commit and so choose
// checks that the PM has long replaced. The host's own reflogs tell, which no push can write.
// If they do not, it returns the project's present tip, which is at least as strict.
func NotBefore(ctx context.Context, repo *git.Repo, control config.Control, c verifier.Claim, unit string) (string, error) {
	if c.Base == c.Main {
		return c.Base, nil
	}
	began, err := firstBegun(ctx, repo, unit)
	if err != nil {
		return "", err
	}
	stood := ""
	for m, err := range moves(ctx, repo, control.ProjectRef()) {
		if err != nil {
			return "", err
		}
		if stood = m.commit; m.at < began {
			break
		}
	}
	if began == 0 || stood == "" {
		return c.Main, nil
	}
	for _, later := range []string{c.Base, c.Main} {
		if ok, err := repo.Exits(ctx, "merge-base", "--is-ancestor", stood, later); err != nil {
			return "", err
		} else if ok && later == c.Base {
			return c.Base, nil
		} else if ok {
			return stood, nil
		}
	}
	return c.Main, nil // which was reset since
}

// firstBegun is begun for a directive's first unit of the same text: a forked unit continues
// from its predecessor's branch.
func firstBegun(ctx context.Context, repo *git.Repo, unit string) (at int64, err error) {
	id, err := uow.ParseID(unit)
	if err != nil {
		return 0, err
	}
	reader := repo.Reader(ctx)
	defer reader.Close()
	for hash := ""; id.K > 0; id.K-- {
		ref := uow.RefPrefix + id.String()
		tip, err := reader.Tip(ref)
		if err != nil || tip == "" {
			return at, err
		}
		r, err := state.Record(reader, tip)
		if err != nil {
			return 0, err
		}
		if hash != "" && r.DirectiveHash != hash {
			break
		}
		hash = r.DirectiveHash
		earlier, err := begun(ctx, repo, ref)
		if err != nil {
			return 0, err
		}
		if earlier == 0 && at == 0 {
			break // no log has the unit's own start
		}
		at = cmp.Or(earlier, at)
	}
	return at, nil
}

// begun is when a unit's journal first recorded that it was at work, 0 if no log says so.
func begun(ctx context.Context, repo *git.Repo, ref string) (at int64, err error) {
	reader := repo.Reader(ctx)
	defer reader.Close()
	for m, err := range moves(ctx, repo, ref) {
		if err != nil {
			return 0, err
		}
		r, err := state.Record(reader, m.commit)
		if err != nil {
			return 0, err
		}
		if r.State != uow.Active && r.Iteration == 0 {
			break
		}
		at = m.at
	}
	return at, nil
}

// move is a value of a ref with the time when it was set, in seconds of the host's clock.
type move struct {
	commit string
	at     int64
}

// moves are a ref's moves in the host's reflog, newest first.
func moves(ctx context.Context, repo *git.Repo, ref string) func(yield func(move, error) bool) {
	return func(yield func(move, error) bool) {
		for line, err := range repo.Lines(ctx, "log", "--walk-reflogs", "--format=%H %gd", "--date=raw", ref, "--") {
			if err != nil {
				yield(move{}, err)
				return
			}
			commit, log, _ := strings.Cut(line, " ") // REF@{SECONDS ZONE}
			seconds, _, _ := strings.Cut(log[strings.LastIndex(log, "{")+1:], " ")
			at, err := strconv.ParseInt(seconds, 10, 64)
			if !yield(move{commit, at}, err) || err != nil {
				return
			}
		}
	}
}
