package audit

import (
	"bytes"
	"context"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/state"
)

// Link is one commit of the chain and the record in it.
type Link struct {
	*Record
	Commit   string // object id
	Settings string // the blob of config.toml beside the record, "" for none
	// Tombstone is the blob that says what was redacted with the record, "" for none.
	Tombstone string
	// Err is why the commit's record is unreadable; then Record is empty except for its
	// position and the verdict Broken.
	Err error
	// Canonical reports whether the record is stored as Marshal would write it.
	Canonical bool
}

// Broken is the verdict of a link whose record cannot be read. No valid record has it.
const Broken Verdict = "broken"

// ReadChain reads the whole chain, oldest record first; nil if there is none. An unreadable
// record is a link with an error, and the records after it are still read. The returned error
// means that git cannot walk the chain.
func ReadChain(ctx context.Context, repo *git.Repo, batch *git.Batch) ([]Link, error) {
	tip, err := repo.Ref(ctx, state.AuditRef)
	if err != nil || tip == git.Zero {
		return nil, err
	}
	out, err := repo.Output(ctx, "rev-list", "--first-parent", "--reverse", tip)
	if err != nil {
		return nil, err
	}
	commits := strings.Fields(string(out))
	chain := make([]Link, 0, len(commits))
	var spare *git.Batch // cat-file exits at a damaged object: start another
	defer func() {
		if spare != nil {
			spare.Close()
		}
	}()
	for i, commit := range commits {
		l := readLink(batch, commit)
		if l.Err != nil {
			if _, err := batch.Info(commits[0]); err != nil {
				if spare != nil {
					spare.Close()
				}
				spare = repo.Batch(ctx)
				batch = spare
			}
			if err := ctx.Err(); err != nil {
				return chain, err
			}
			l.Record = &Record{ID: int64(i + 1), Verdict: Broken, Rules: []string{}}
		}
		chain = append(chain, l)
	}
	return chain, nil
}

func readLink(batch *git.Batch, commit string) Link {
	data, also, err := readFiles(batch, commit)
	l := Link{Commit: commit, Settings: also.settings, Tombstone: also.tombstone, Err: err}
	if err != nil {
		return l
	}
	if l.Record, l.Err = ParseRecord(data); l.Err != nil {
		return l
	}
	line, err := l.Marshal()
	l.Canonical = err == nil && bytes.Equal(line, data)
	return l
}
