// Package growth limits the host's disk space for the agent's pushes. A ledger beside the
// repository says how much they brought, reachable or not. A push is added before its refs
// move, and maintenance, which frees what the agent deleted, counts anew (GATE-6).
package growth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
)

// Path is the ledger's file, relative to the bare repository.
const Path = "ward/agent-objects.json"

const (
	lockPath = "ward/agent-objects.lock"
	// patience is how long a push waits for the ledger, which others hold for the time of
	// one small file.
	patience = 5 * time.Second
	maxFile  = 64 << 10
	maxBy    = 1000 // directives that a ledger knows, of 40 bytes at most
)

// Ledger is the disk space that the agent's pushes use.
type Ledger struct {
	Bytes   int64     `json:"bytes"`            // on the disk, since the last count and with it
	Brought int64     `json:"brought"`          // by all pushes that ever were: what came while a count was made
	Counted time.Time `json:"counted,omitzero"` // the last count
	// By is what the pushes for each directive brought since maintenance last freed what
	// nothing leads to. Of too many the largest are kept.
	By map[string]int64 `json:"by,omitempty"`
}

// Full is the error of a push that needs more space than is left.
type Full struct{ Bytes, Limit int64 }

func (f *Full) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("what the agent has pushed would take %.1f MiB of the host's disk, more than %.1f", float64(f.Bytes)/mib, float64(f.Limit)/mib)
}

// Read reads the ledger of a repository. Without a file it is empty and was never counted.
func Read(bare string) (l Ledger, err error) {
	path := filepath.Join(bare, Path)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	var data []byte
	if info.Size() > maxFile {
		err = errors.New("it is too large")
	} else if data, err = os.ReadFile(path); err == nil {
		err = json.Unmarshal(data, &l)
	}
	by := int64(0)
	for _, bytes := range l.By {
		by = min(by, bytes)
	}
	if err == nil && min(l.Bytes, l.Brought, by) < 0 {
		err = errors.New("it has less than nothing")
	}
	if err != nil {
		return Ledger{}, diag.Hint(fmt.Errorf("%s: %w", Path, err), "git ward maintain DIR counts anew")
	}
	return l, nil
}

// small is a push that may use the last part of the limit, a sixteenth: who deletes, or
// reports that there is no room, needs some. Half of that is for who has not brought as much
// yet, the host's own reports among them.
const small = 64 << 10

// Add adds the bytes of a push for a directive, "" for none, or refuses them with *Full where
// there is no room.
func Add(ctx context.Context, bare, directive string, bytes, limit int64) error {
	return change(ctx, bare, func(l Ledger, err error) (Ledger, error) {
		if err != nil {
			return l, err
		}
		room := limit
		if bytes > small {
			room -= limit / 16
		} else if directive != "" && l.By[directive]+bytes > limit/32 {
			room -= limit / 32
		}
		if l.Bytes+bytes > room {
			return l, &Full{l.Bytes + bytes, room}
		}
		l.Bytes += bytes
		l.Brought += bytes
		if directive != "" {
			l.add(directive, bytes)
		}
		return l, nil
	})
}

func (l *Ledger) add(directive string, bytes int64) {
	if l.By == nil {
		l.By = map[string]int64{}
	}
	l.By[directive] += bytes
	for len(l.By) > maxBy {
		least := directive
		for d, bytes := range l.By {
			if bytes < l.By[least] {
				least = d
			}
		}
		delete(l.By, least)
	}
}

// Count writes the result of a count that began at ledger state before. It adds what pushes
// brought meanwhile, because the count may have missed it. freed says that unreachable objects
// were removed first. A ledger that cannot be read is replaced.
func Count(ctx context.Context, bare string, before Ledger, bytes int64, freed bool) (after Ledger, err error) {
	err = change(ctx, bare, func(l Ledger, _ error) (Ledger, error) {
		l.Bytes = bytes + max(0, l.Brought-before.Brought)
		l.Counted = time.Now().UTC().Truncate(time.Second)
		for d := range before.By {
			if freed {
				l.By[d] -= before.By[d]
			}
			if l.By[d] <= 0 {
				delete(l.By, d)
			}
		}
		after = l
		return l, nil
	})
	return after, err
}

// change replaces the ledger under its lock.
func change(ctx context.Context, bare string, by func(Ledger, error) (Ledger, error)) error {
	lock, err := flock.Any(ctx, filepath.Join(bare, lockPath), flock.Exclusive, patience)
	if err != nil {
		return err
	}
	defer lock.Close()
	l, err := by(Read(bare))
	if err != nil {
		return err
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(bare, Path), append(data, '\n'), 0o644)
}
