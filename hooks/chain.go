package hooks

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// link is a record and the commit of the chain that holds it.
type link struct {
	*audit.Record
	Commit   string
	Settings string // the blob of config.toml beside it, "" for none
	// Err says why the commit holds no record that can be read; the record is an empty
	// one at its place then.
	Err error
	// Canonical says that the record is stored as it would be written again.
	Canonical bool
}

// broken is the verdict of a record that cannot be read.
const broken audit.Verdict = "broken"

// readChain reads the audit chain, oldest record first. A record that cannot be read
// is a link with an error, and those after it are read all the same.
func readChain(ctx context.Context, repo *git.Repo, batch *git.Batch) ([]link, error) {
	tip, err := repo.Ref(ctx, audit.ChainRef)
	if err != nil || tip == git.Zero {
		return nil, err
	}
	out, err := repo.Output(ctx, "rev-list", "--first-parent", "--reverse", tip)
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(string(out))
	chain := make([]link, 0, len(ids))
	var spare *git.Batch // git ends a child that meets a damaged object
	for i, id := range ids {
		l := readLink(batch, id)
		if l.Err != nil {
			if _, err := batch.Info(ids[0]); err != nil {
				if spare != nil {
					spare.Close()
				}
				spare = repo.Batch(ctx)
				defer spare.Close()
				batch = spare
			}
			if err := ctx.Err(); err != nil {
				return chain, err
			}
			l.Record = &audit.Record{ID: int64(i + 1), Verdict: broken, Rules: []string{}}
		}
		chain = append(chain, l)
	}
	return chain, nil
}

func readLink(batch *git.Batch, commit string) link {
	data, settings, err := audit.ReadFiles(batch, commit)
	l := link{Commit: commit, Settings: settings, Err: err}
	if err != nil {
		return l
	}
	if l.Record, l.Err = audit.ParseRecord(data); l.Err != nil {
		return l
	}
	line, err := l.Marshal()
	l.Canonical = err == nil && bytes.Equal(line, data)
	return l
}

// refs lists the refs whose every move the audit records, by their names as records
// hold them, with their values.
func refs(ctx context.Context, repo *git.Repo, settings *config.Config) (map[string]string, error) {
	out, err := repo.Output(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range bytes.Lines(out) {
		id, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if ok && !slices.Contains(push.HostOnly, name) && !settings.Foreign(name) {
			all[audit.QuoteRef(name)] = id
		}
	}
	return all, nil
}

// balance counts, for one ref, how often it came to a value less how often it
// left it. Where every move is recorded, it is 1 at the ref's value and 0 at all
// others, in whatever order the records stand: a push whose post-receive died is
// recorded late, perhaps after the next one.
type balance map[string]int

// tip is the value that the moves lead to; ok is false when they do not link up.
func (b balance) tip() (value string, ok bool) {
	value, ok = git.Zero, true
	for id, n := range b {
		if n < 0 || n > 1 {
			ok = false
		}
		if n > 0 {
			ok = ok && value == git.Zero
			value = id
		}
	}
	return value, ok
}

func balances(chain []link) map[string]balance {
	all := map[string]balance{}
	for _, l := range chain {
		for _, ref := range l.Refs {
			if !ref.Applied || l.Verdict != audit.Accepted {
				continue
			}
			if all[ref.Ref] == nil {
				all[ref.Ref] = balance{git.Zero: 1}
			}
			all[ref.Ref][ref.Old]--
			all[ref.Ref][ref.New]++
		}
	}
	return all
}

// recorded is the value of every ref as the chain has it.
func recorded(chain []link) map[string]string {
	values := map[string]string{}
	for ref, b := range balances(chain) {
		if tip, _ := b.tip(); tip != git.Zero {
			values[ref] = tip
		}
	}
	return values
}

// settingsOf are a bare repository's settings; the defaults where there are none to
// read, as in a clone.
func settingsOf(repo *git.Repo) *config.Config {
	if c, err := config.Load(repo.Dir); err == nil {
		return c
	}
	return config.Default()
}

// unrecorded is a record of the refs whose values the chain does not have; it
// has no refs when there are none.
func unrecorded(ctx context.Context, repo *git.Repo, chain []link) (*audit.Record, error) {
	settings := settingsOf(repo)
	now, err := refs(ctx, repo, settings)
	if err != nil {
		return nil, err
	}
	known := recorded(chain)
	maps.DeleteFunc(known, func(ref, _ string) bool { return settings.Foreign(ref) })
	r := &audit.Record{Time: time.Now().UTC().Truncate(time.Millisecond), Principal: string(push.PM),
		User: fmt.Sprint(os.Geteuid()), Verdict: audit.Accepted, Rules: []string{}, Reconciled: true}
	add := func(ref, old, new string) {
		r.Refs = append(r.Refs, audit.Ref{Update: push.Update{Ref: ref, Old: cmp.Or(old, git.Zero), New: new}, Applied: true})
	}
	for ref, id := range now {
		if known[ref] != id {
			add(ref, known[ref], id)
		}
	}
	for ref, id := range known {
		if now[ref] == "" {
			add(ref, id, git.Zero)
		}
	}
	slices.SortFunc(r.Refs, func(a, b audit.Ref) int { return strings.Compare(a.Ref, b.Ref) })
	return r, nil
}
