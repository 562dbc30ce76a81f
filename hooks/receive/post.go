package receive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// postDeadline bounds a post-receive that waits for others' locks. It reads no
// settings: what it does was settled by pre-receive.
const postDeadline = time.Minute

// PostReceive records a push whose refs have moved: one commit on the audit
// chain and a note on each new tip, in one transaction, and then the pending
// file goes. Refs have moved already, so nothing here can refuse; what fails
// stays pending and is finished by the next push.
func PostReceive(ctx context.Context, env *cli.Env) error {
	ctx, s, err := open(ctx, env)
	if err != nil {
		return err
	}
	defer s.close()
	time.AfterFunc(postDeadline, s.cancel)
	// The child that moves refs starts now, while everything else is read.
	w, err := audit.NewWriter(ctx, s.repo, s.batch)
	if err != nil {
		return err
	}
	defer w.Close()
	p, err := s.pending()
	if err != nil {
		return err
	}
	moved := map[string]bool{}
	for _, u := range s.updates {
		moved[u.Ref] = true
	}
	p.Settle(moved)
	p.Record.DurationMS += time.Since(s.start).Milliseconds()
	if err := w.Finish(ctx, p); err != nil {
		return cli.Hint(fmt.Errorf("the push was accepted, but is not recorded yet: %w", err), "the next push records it; git ward fsck --repair does it now")
	}
	for _, u := range s.updates {
		fmt.Fprintf(env.Stdout, "ward: %s %s, push %d\n", diag.Clean(u.Ref), move(u), p.Record.ID)
	}
	fmt.Fprintln(env.Stdout, "ward: the audit is in refs/notes/audit; git ward clone fetches it")
	return s.chained(ctx, "post-receive")
}

// move words a ref's change.
func move(u checks.Update) string {
	switch {
	case u.Old == git.Zero:
		return "created at " + diag.Short(u.New)
	case u.New == git.Zero:
		return "deleted, was " + diag.Short(u.Old)
	}
	return diag.Short(u.Old) + ".." + diag.Short(u.New)
}

// pending finds the file that this push's pre-receive left: the one of the same
// receive-pack.
func (s *session) pending() (*audit.Pending, error) {
	parent, err := audit.Identify(os.Getppid())
	if err != nil {
		return nil, err
	}
	all, err := audit.LoadPending(s.repo)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Process == parent {
			return p, nil
		}
	}
	return nil, cli.Hint(errors.New("no pending push of this receive-pack: pre-receive did not run, or this hook was started by hand"),
		"run git ward init --bare on the repository, then git ward fsck")
}
