// Package maintain runs git's own maintenance of a bare repository, which Ward's settings keep
// out of pushes (HOOK-6), and removes unreachable objects: of branches that the agent deleted
// or rewrote, and of records that the PM dropped or redacted (REC-5).
package maintain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/flock"
	"git-ward/internal/git"
	"git-ward/internal/growth"
	"git-ward/protocols/boot"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
)

const (
	// DefaultKeep is how long unreachable objects stay: a running push may need them, and a
	// branch deleted by mistake can be restored. It is less than git's two weeks, because an
	// agent that pushes and deletes would fill the disk.
	DefaultKeep = 24 * time.Hour
	// dropKeep is the same where something stays that was to go: longer than a push may take.
	dropKeep = time.Hour
)

// One maintenance works on a repository at a time; another waits for it so long.
const (
	lockPath     = "ward/maintain.run"
	lockPatience = 2 * time.Minute
)

// Options configure maintenance.
type Options struct {
	// Keep is how long unreachable objects stay. Less than a push's duration is only for a
	// repository without pushes meanwhile.
	Keep time.Duration
	// Reclaim frees what the agent deleted or rewrote without waiting for Keep. It also
	// happens when that takes more than half of [limits] agent_objects.
	Reclaim bool
}

// Report lists what was done.
type Report struct {
	Locks   []string // of git's, which a git that was killed left, and which are gone
	Pushes  int      // recorded, that had ended without a record
	Dropped int      // objects that were redacted, and records that were dropped, in all
	// Reclaimed are objects that only the agent's former tips reached, and Ledger is the
	// present usage of its pushes.
	Reclaimed int
	Ledger    growth.Ledger
	// Stored are the dropped objects that are still stored: they are younger than Keep, a ref
	// or reflog reaches them, or they are Precious.
	Stored int
	// Precious is a repository whose owner says that no object may go, because clones borrow
	// from it (git-config(1), extensions.preciousObjects): none does, and git packs none.
	Precious bool
}

// Run does the maintenance. A person's clone is only packed, as git itself does.
func Run(ctx context.Context, repo *git.Repo, o Options) (r Report, problem error) {
	bare, err := repo.Bare(ctx)
	if err != nil {
		return r, err
	}
	if r.Locks, err = repo.UnlockAll(ctx); err != nil { // git gc fails on lock files of killed git processes
		return r, err
	}
	if !bare {
		return r, pack(ctx, repo)
	}
	guarded := isGuarded(repo)
	if guarded {
		lock, err := flock.Any(ctx, filepath.Join(repo.Dir, lockPath), flock.Exclusive, lockPatience)
		if err != nil {
			return r, fmt.Errorf("another maintenance of this repository runs (%s): %w", lockPath, err)
		}
		defer lock.Close()
		repo = repo.Holding(lock) // a git gc outlives a maintenance that was killed, and has the next one fail
	}
	batch := repo.Batch(ctx)
	defer func() { batch.Close() }()
	if r.Pushes, err = audit.Reconcile(ctx, repo, batch); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	chain, err := audit.ReadChain(ctx, repo, batch)
	if err != nil {
		return r, err
	}
	gone, moved, err := dropped(ctx, repo, batch, chain)
	if err != nil {
		return r, err
	}
	r.Dropped = len(gone)
	if r.Stored, err = stored(batch, gone); err != nil {
		return r, err
	}
	if r.Stored > 0 {
		o.Keep = min(o.Keep, dropKeep)
	}
	batch.Close() // a child has the packs open that go
	before, broken := growth.Read(repo.Dir)
	if broken != nil { // it is counted anew
		before.Bytes = math.MaxInt64
	}
	if r.Precious, err = isPrecious(ctx, repo); err != nil {
		return r, err
	}
	freed := false
	if work := (&reclaimer{ctx, repo, chain}); !r.Precious {
		var trouble error
		if freed, trouble = r.reclaim(work, before, o.Reclaim); trouble != nil {
			// The rest is worth doing all the same: it makes room, too.
			defer func() { problem = errors.Join(problem, trouble) }()
		}
		if err := work.forget(moved, o.Keep); err != nil {
			return r, err
		}
	}
	if err := packBeside(ctx, repo, o.Keep); err != nil {
		return r, err
	}
	batch = repo.Batch(ctx)
	if r.Stored, err = stored(batch, gone); err != nil || !guarded {
		return r, err
	}
	bytes, err := count(ctx, repo, chain)
	if err != nil {
		return r, err
	}
	r.Ledger, err = growth.Count(ctx, repo.Dir, before, bytes, freed)
	return r, err
}

// isGuarded reports whether a repository is one of Ward's, with hooks and a ledger.
func isGuarded(repo *git.Repo) bool {
	_, err := os.Stat(filepath.Join(repo.Dir, config.Path))
	return err == nil
}

func isPrecious(ctx context.Context, repo *git.Repo) (bool, error) {
	out, err := repo.Output(ctx, "config", "--local", "--type=bool", "--default=false", "--get", "extensions.preciousObjects")
	return strings.TrimSpace(string(out)) == "true", err
}

// reclaim frees what the agent deleted without waiting for Keep, if its pushes take half of
// their limit.
func (r *Report) reclaim(work *reclaimer, l growth.Ledger, always bool) (freed bool, err error) {
	settings, err := config.Load(work.repo.Dir)
	if err != nil || len(work.chain) == 0 {
		return false, nil // not one of Ward's: nothing says what is the agent's
	}
	if limit := settings.Limits.AgentObjects; !always && l.Bytes <= limit/2 {
		return false, nil
	}
	r.Reclaimed, err = work.run()
	return err == nil, err
}

// recordsPatience is how long Records waits for pushes that still run: one whose sender
// was killed ends by itself, in the time of a hook.
const recordsPatience = 15 * time.Second

// Records writes the records of pushes that ended without one, and returns how many it
// made. Those under way when it is called it waits for, a little: what a launcher that was
// killed has left may still be at work.
func Records(ctx context.Context, repo *git.Repo) (done int, err error) {
	batch := repo.Batch(ctx)
	defer batch.Close()
	waits, err := audit.Waiting(repo)
	for end := time.Now().Add(recordsPatience); err == nil && len(waits) > 0; {
		var n int
		n, err = audit.Reconcile(ctx, repo, batch)
		done += n
		now, listErr := audit.Waiting(repo)
		if err = errors.Join(err, listErr); err != nil || time.Now().After(end) {
			break
		}
		waits = slices.DeleteFunc(waits, func(name string) bool { return !slices.Contains(now, name) })
		if len(waits) > 0 {
			select {
			case <-ctx.Done():
				return done, ctx.Err()
			case <-time.After(recordsInterval): // a push tells nobody that it has ended
			}
		}
	}
	return done, err
}

const recordsInterval = 50 * time.Millisecond

// pack packs refs and objects. The audit's reflog stays, because only it shows a cut end of
// the chain.
func pack(ctx context.Context, repo *git.Repo, more ...string) error {
	gc := []string{"-c", "gc." + state.AuditRef + ".reflogExpire=never", "-c", "gc." + state.AuditRef + ".reflogExpireUnreachable=never", "gc", "--quiet"}
	if _, err := repo.Output(ctx, append(gc, more...)...); err != nil {
		return err
	}
	_, err := repo.Output(ctx, "commit-graph", "write", "--reachable", "--no-progress")
	return err
}

// packBeside packs while pushes continue. Unreachable objects that are too young to delete are
// packed as well, with their times (gitformat-pack(5), cruft packs; newer gits do this by
// themselves): each lease renewal leaves such a blob, 21,600 a day for 50 workers, which take
// 84 MiB of disk as files and 4 MiB in a pack.
func packBeside(ctx context.Context, repo *git.Repo, keep time.Duration) error {
	release, err := holdFan(filepath.Join(repo.Dir, "objects"))
	if err != nil {
		return err
	}
	return errors.Join(pack(ctx, repo, "--cruft", "--prune="+ago(keep)), release())
}

// ago is a time as git reads one.
func ago(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return fmt.Sprintf("%d.seconds.ago", int64(d/time.Second))
}

// dropped are the ids of objects to be removed, and the existing refs that reached them, whose
// reflogs may still do.
func dropped(ctx context.Context, repo *git.Repo, batch *git.Batch, chain []audit.Link) (gone, refs []string, err error) {
	for _, l := range chain {
		if l.Tombstone == "" {
			continue
		}
		t, err := audit.ReadTombstone(batch, l.Tombstone)
		if err != nil {
			return nil, nil, fmt.Errorf("the tombstone beside record %d: %w", l.ID, err)
		}
		for _, o := range t.Objects {
			gone = append(gone, o.Blob)
		}
		for _, ref := range l.Refs {
			refs = append(refs, audit.UnquoteRef(ref.Ref))
		}
	}
	if len(gone) > 0 { // what the watcher saw to hold, and to pass
		tips, err := repo.Refs(ctx, boot.Prefix)
		if err != nil {
			return nil, nil, err
		}
		for _, tip := range append(tips, git.Tip{Name: boot.LastGood}) {
			refs = append(refs, tip.Name)
		}
	}
	reader := repo.Reader(ctx)
	defer reader.Close()
	units, _, err := state.Units(reader)
	if err != nil {
		return nil, nil, err
	}
	for _, u := range units {
		if last, err := state.Record(reader, u.Tip); err == nil && last.Expired != nil { // a broken one is fsck's to name
			gone = append(gone, last.Expired.Record)
		}
	}
	return gone, refs, nil
}

// stored counts the objects that are there.
func stored(batch *git.Batch, ids []string) (n int, err error) {
	for _, id := range ids {
		if _, err := batch.Info(id); err == nil {
			n++
		} else if !errors.Is(err, git.ErrMissing) {
			return n, err
		}
	}
	return n, nil
}

// expire removes unreachable entries from reflogs of the agent's branches, of records, and of
// refs that a redaction moved. Other branches' reflogs are people's, and follow git's rules.
func expire(ctx context.Context, repo *git.Repo, moved []string, keep time.Duration) error {
	tips, err := repo.Refs(ctx, "refs/")
	if err != nil {
		return err
	}
	if len(moved) > 0 { // its reflog follows the branch that it names
		tips, moved = append(tips, git.Tip{Name: "HEAD"}), append(moved, "HEAD")
	}
	args := []string{"reflog", "expire", "--expire-unreachable=" + ago(keep)}
	some := false
	for _, tip := range tips {
		if !push.IsAgentBranch(tip.Name) && !strings.HasPrefix(tip.Name, record.Prefix) && !slices.Contains(moved, tip.Name) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(repo.Dir, "logs", tip.Name)); err != nil {
			continue // git makes an error of a ref without one
		}
		if some, args = true, append(args, tip.Name); len(args) < maxArgs {
			continue
		}
		if _, err := repo.Output(ctx, args...); err != nil {
			return err
		}
		some, args = false, args[:3]
	}
	if !some {
		return nil
	}
	_, err = repo.Output(ctx, args...)
	return err
}

// maxArgs bounds the names in one command line.
const maxArgs = 1000
