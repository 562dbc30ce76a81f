package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
)

// The bounds of what is kept: a key is forgotten when nobody waits for its thing any more,
// with an hour for what comes back, and runs older than an hour count for nothing.
const (
	maxTold = 20_000
	kept    = time.Hour
)

// ledger is what was sent, and the command's success.
type ledger struct {
	Keys map[string]time.Time   `json:"keys"` // when each was sent or last seen
	Runs map[string][]time.Time `json:"runs"` // in the last hour, by directive
	// Failing describes the command's failure, nil if it works.
	Failing *runstate.NotifyFailing `json:"failing"`
}

func readTold(path string) (*ledger, error) {
	t := &ledger{Keys: map[string]time.Time{}, Runs: map[string][]time.Time{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil && info.Size() > runstate.MaxNotified {
		err = fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), runstate.MaxNotified)
	}
	if err != nil {
		return t, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	read := *t
	if err := json.Unmarshal(data, &read); err != nil || read.Keys == nil || read.Runs == nil {
		return t, fmt.Errorf("%s is not whole: %v", path, err)
	}
	return &read, nil
}

func (t *ledger) save(path string) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return atomicfile.WritePrivate(path, append(data, '\n'), 0o600)
}

// key is a message's key in bounded form, without text of others.
func key(w Waiting) string {
	sum := sha256.Sum256([]byte(w.Key))
	return hex.EncodeToString(sum[:16])
}

// keep marks what still waits as seen, and forgets what has not been seen for long; if there
// is too much, the oldest first.
func (t *ledger) keep(list []Waiting) {
	now := time.Now()
	for _, w := range list {
		if _, ok := t.Keys[key(w)]; ok {
			t.Keys[key(w)] = now
		}
	}
	var seen []time.Time
	for k, at := range t.Keys {
		if now.Sub(at) > kept {
			delete(t.Keys, k)
			continue
		}
		seen = append(seen, at)
	}
	if len(seen) > maxTold {
		slices.SortFunc(seen, time.Time.Compare)
		oldest := seen[len(seen)-maxTold]
		for k, at := range t.Keys {
			if at.Before(oldest) {
				delete(t.Keys, k)
			}
		}
	}
	for directive, runs := range t.Runs {
		runs = slices.DeleteFunc(runs, func(at time.Time) bool { return now.Sub(at).Abs() > time.Hour })
		if t.Runs[directive] = runs; len(runs) == 0 {
			delete(t.Runs, directive)
		}
	}
}

// untold are new messages, one per directive, in list order. A directive that has used its
// share of this hour waits.
func (t *ledger) untold(list []Waiting, perHour int, now time.Time) (groups []message) {
	at := map[string]int{}
	for _, w := range list {
		if _, ok := t.Keys[key(w)]; ok || len(t.Runs[w.Directive]) >= perHour {
			continue
		}
		i, ok := at[w.Directive]
		if !ok {
			i = len(groups)
			at[w.Directive], groups = i, append(groups, message{Directive: w.Directive, Kind: w.Kind})
		}
		if groups[i].Things = append(groups[i].Things, w); len(groups[i].Things) > 1 {
			groups[i].Kind = "several"
		}
	}
	return groups
}

// The pauses before a command that failed is tried again, doubled from the first to the
// longest.
const (
	firstPause   = 30 * time.Second
	longestPause = time.Hour
)

// retry reports whether the command may run: it has not failed, or long enough ago.
func (t *ledger) retry(now time.Time) bool {
	return t.Failing == nil || !now.Before(t.Failing.Next) || t.Failing.Next.Sub(now) > longestPause // the clock was put back
}

// due reports whether something only waits for time: after a failed command.
func (t *ledger) due(now time.Time) bool { return t.Failing != nil && t.retry(now) }

// ran records a run's result.
func (t *ledger) ran(m message, err error, now time.Time) {
	if err != nil {
		f := runstate.NotifyFailing{Since: now}
		if t.Failing != nil {
			f = *t.Failing
		}
		pause := min(firstPause<<min(f.Times, 10), longestPause)
		f.Times, f.Next, f.Why = f.Times+1, now.Add(pause), diag.Clean(diag.Cut(err.Error(), maxSaid))
		t.Failing = &f
		return
	}
	t.Failing = nil
	had := map[string]bool{} // a combined run counts for each directive in it
	for _, w := range m.Things {
		t.Keys[key(w)] = now
		if !had[w.Directive] {
			had[w.Directive], t.Runs[w.Directive] = true, append(t.Runs[w.Directive], now)
		}
	}
}
