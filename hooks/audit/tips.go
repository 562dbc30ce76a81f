package audit

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

	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

// balance counts for one ref how often it came to a value, minus how often it left it. If
// every move is recorded, it is 1 at the ref's value and 0 elsewhere, in any order of the
// records: a push whose post-receive died is recorded late, perhaps after the next one.
type balance map[string]int

// tip is the value to which the moves lead; ok is false if they do not link up, and then the
// value is one of the possible ones, always the same.
func (b balance) tip() (value string, ok bool) {
	value, ok = git.Zero, true
	for _, id := range slices.Sorted(maps.Keys(b)) {
		if b[id] < 0 || b[id] > 1 {
			ok = false
		}
		if b[id] > 0 && value == git.Zero {
			value = id
		}
	}
	return value, ok
}

func balances(chain []Link) map[string]balance {
	all := map[string]balance{}
	for _, l := range chain {
		for _, ref := range l.Refs {
			if !ref.Applied || l.Verdict != Accepted {
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

// Gaps lists, sorted and by their names in records, the refs whose recorded moves do not
// connect: something moved them without the hooks.
func Gaps(chain []Link) []string {
	var gaps []string
	for ref, b := range balances(chain) {
		if _, ok := b.tip(); !ok {
			gaps = append(gaps, ref)
		}
	}
	slices.Sort(gaps)
	return gaps
}

// recordedTips is the value of every ref as the chain has it.
func recordedTips(chain []Link) map[string]string {
	tips := map[string]string{}
	for ref, b := range balances(chain) {
		if tip, _ := b.tip(); tip != git.Zero {
			tips[ref] = tip
		}
	}
	return tips
}

// tips are the refs whose every move the audit records, by their names in records,
// with their values now.
func tips(ctx context.Context, repo *git.Repo, settings *config.Config) (map[string]string, error) {
	out, err := repo.Output(ctx, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range bytes.Lines(out) {
		id, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if ok && !push.IsHostOnly(name) && !settings.Foreign(name) {
			all[QuoteRef(name)] = id
		}
	}
	return all, nil
}

// Unrecorded is a record of the refs whose values the chain does not have, as moves
// from what it has to what they are; no refs when there are none. Refs that
// settings leave to a forge are not among them.
func Unrecorded(ctx context.Context, repo *git.Repo, settings *config.Config, chain []Link) (*Record, error) {
	now, err := tips(ctx, repo, settings)
	if err != nil {
		return nil, err
	}
	known := recordedTips(chain)
	maps.DeleteFunc(known, func(ref, _ string) bool { return settings.Foreign(ref) })
	r := &Record{Time: time.Now().UTC().Truncate(time.Millisecond), Principal: string(push.PM),
		User: fmt.Sprint(os.Geteuid()), Verdict: Accepted, Rules: []string{}, Reconciled: true}
	add := func(ref, old, new string) {
		r.Refs = append(r.Refs, Ref{Update: push.Update{Ref: ref, Old: cmp.Or(old, git.Zero), New: new}, Applied: true})
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
	slices.SortFunc(r.Refs, func(a, b Ref) int { return strings.Compare(a.Ref, b.Ref) })
	return r, nil
}
