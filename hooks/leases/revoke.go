package leases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// ErrNone means that there is no lease to revoke.
var ErrNone = errors.New("there is no lease")

// settles is how long Revoke waits for pushes that were admitted before: git moves their
// refs at once, unless its process was stopped.
const settles = 10 * time.Second

// Revoke takes a directive's lease away, whatever is written in it, and returns the lease
// that it was. From then on the gate admits no push by it: a push that is judged looks at
// the lease once more after it has said in its pending file that it is admitted, and this
// looks for such files after the lease has gone. So when it returns no push of the holder's
// moves a ref any more. *Moving names those that did not come to an end.
func Revoke(ctx context.Context, repo *git.Repo, batch *git.Batch, directive string) (Standing, error) {
	now, err := Read(batch, directive, time.Now())
	if err != nil {
		return now, err
	}
	if now.Object == "" {
		return now, fmt.Errorf("%w of %s", ErrNone, directive)
	}
	err = repo.UpdateRefs(ctx, "ward: lease revoke", git.RefUpdate{Ref: lease.Ref(directive), Old: now.Object, New: git.Zero})
	if errors.Is(err, git.ErrLostRace) {
		return now, diag.Hint(fmt.Errorf("the lease of %s moved meanwhile: %w", directive, err), "look at it again: git ward lease")
	}
	if err != nil {
		return now, err
	}
	return now, awaitPushes(ctx, repo, batch, directive)
}

// Moving lists pushes under a revoked lease that were admitted before and may still move refs.
type Moving struct{ Pushes []string }

func (m *Moving) Error() string {
	return "admitted before the lease was revoked, and still under way: " + strings.Join(m.Pushes, ", ")
}

// awaitPushes waits until no push of a directive's workers moves refs.
func awaitPushes(ctx context.Context, repo *git.Repo, batch *git.Batch, directive string) error {
	for end := time.Now().Add(settles); ; {
		pushes, err := moving(repo, batch, directive)
		if err != nil || len(pushes) == 0 {
			return err
		}
		if time.Now().After(end) {
			return &Moving{pushes}
		}
		failpoint.Reach("leases/waits")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond): // git's process ends without telling anybody
		}
	}
}

func moving(repo *git.Repo, batch *git.Batch, directive string) (ids []string, err error) {
	all, _, err := audit.LoadPending(repo)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, p := range all {
		of, _, leased := lease.ParseName(p.Record.Name)
		if leased && of == directive && p.State == audit.Admitted && !p.Over(repo, batch) {
			ids = append(ids, p.Record.Push)
		}
	}
	return ids, nil
}
