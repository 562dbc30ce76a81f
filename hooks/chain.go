package hooks

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/internal/git"
)

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// link is a record and the commit of the chain that holds it.
type link struct {
	*audit.Record
	Commit string
}

// readChain reads the audit chain, oldest record first.
func readChain(ctx context.Context, repo *git.Repo, batch *git.Batch) ([]link, error) {
	tip, err := repo.Ref(ctx, audit.ChainRef)
	if err != nil || tip == git.Zero {
		return nil, err
	}
	out, err := repo.Output(ctx, "rev-list", "--first-parent", "--reverse", tip)
	if err != nil {
		return nil, err
	}
	var chain []link
	for _, id := range strings.Fields(string(out)) {
		r, err := audit.Read(batch, id)
		if err != nil {
			return chain, err
		}
		chain = append(chain, link{r, id})
	}
	return chain, nil
}

// refs lists the refs whose every move the audit records, with their values.
func refs(ctx context.Context, repo *git.Repo) (map[string]string, error) {
	out, err := repo.Output(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range bytes.Lines(out) {
		id, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if ok && !hostMoved(name) {
			all[name] = id
		}
	}
	return all, nil
}

// hostMoved names the refs that the host moves itself, in step with the chain.
func hostMoved(ref string) bool {
	switch ref {
	case audit.ChainRef, audit.NotesRef, audit.LessonsRef, "refs/ward/last-good", "refs/notes/certificates":
		return true
	}
	return false
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

// unrecorded is a record of the refs whose values the chain does not have; it
// has no refs when there are none.
func unrecorded(ctx context.Context, repo *git.Repo, chain []link) (*audit.Record, error) {
	now, err := refs(ctx, repo)
	if err != nil {
		return nil, err
	}
	known := recorded(chain)
	r := &audit.Record{Time: time.Now().UTC().Truncate(time.Millisecond), Principal: string(checks.PM),
		User: fmt.Sprint(os.Geteuid()), Verdict: audit.Accepted, Rules: []string{}, Reconciled: true}
	add := func(ref, old, new string) {
		r.Refs = append(r.Refs, audit.Ref{Update: checks.Update{Ref: ref, Old: or(old, git.Zero), New: new}, Applied: true})
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

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
