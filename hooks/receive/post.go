package receive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/internal/token"
)

// postDeadline bounds the work of recording a push. It uses no settings:
// pre-receive has decided everything.
const postDeadline = 10 * time.Second

// PostReceive records a push whose refs have moved: one commit on the audit
// chain and a note on each new tip, in one transaction, and then the pending
// file goes. Refs have moved already, so nothing here can refuse; what fails
// stays pending and is finished by the next push.
func PostReceive(ctx context.Context, call Call) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s, err := open(ctx, call, stop)
	if err != nil {
		return err
	}
	defer s.close()
	work, done := within(ctx, time.Now(), postDeadline)
	defer done()
	unbound := context.AfterFunc(work, stop)
	// The child that moves refs starts now, while everything else is read.
	w, err := audit.NewWriter(ctx, s.repo, s.batch)
	if err != nil {
		return err
	}
	defer w.Close()
	failpoint.Reach("receive/moved")
	r, err := s.finish(ctx, w)
	failpoint.Reach("receive/finished")
	if err != nil {
		return diag.Hint(fmt.Errorf("the push was accepted, but is not recorded yet: %w", err), "the next push records it, or git ward fsck --repair now; where Ward's pre-receive has gone (git ward doctor --bare DIR), git ward init --bare DIR")
	}
	for _, u := range s.updates {
		fmt.Fprintf(call.Stdout, "ward: %s %s, push %d\n", diag.Clean(u.Ref), move(u), r.ID)
	}
	fmt.Fprintln(call.Stdout, "ward: the audit is in refs/notes/audit; git ward clone fetches it")
	unbound() // the deadline is for Ward's own work
	return s.runChained(ctx, postReceive)
}

// finish makes the push's record and returns it.
func (s *session) finish(ctx context.Context, w *audit.Writer) (*audit.Record, error) {
	moves := s.recordedUpdates()
	p, err := audit.Find(s.repo, s.call.Getenv(token.IDVar), s.mover, transport(s.call.Getenv), moves)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return s.late(ctx, w, moves)
	}
	moved := map[string]bool{}
	for _, u := range moves {
		moved[u.Ref] = true
	}
	p.Settle(moved)
	p.Record.DurationMS += time.Since(s.start).Milliseconds()
	err = w.Finish(ctx, p)
	return p.Record, err
}

// late handles a push without a pending file: if the hooks' end is invisible, another push
// records a slow one, as made or, if its refs move later, as lost.
func (s *session) late(ctx context.Context, w *audit.Writer, moves []push.Update) (*audit.Record, error) {
	r, err := audit.Recorded(s.batch, moves, true)
	if r != nil || err != nil {
		return r, err
	}
	if r, err = audit.Recorded(s.batch, moves, false); err != nil {
		return nil, err
	}
	if r == nil || r.Verdict != audit.Lost {
		return nil, diag.Hint(errors.New("no pending push of this receive-pack: pre-receive did not run, or this hook was started by hand"),
			"run git ward init --bare on the repository, then git ward fsck")
	}
	r.Verdict, r.Push = audit.Accepted, r.Push+"-late"
	for i, ref := range r.Refs {
		for _, u := range moves {
			r.Refs[i].Applied = r.Refs[i].Applied || ref.Update == u
		}
	}
	return r, w.Append(ctx, audit.Entry{Record: r})
}

// move words a ref's change.
func move(u push.Update) string {
	switch {
	case u.Old == git.Zero:
		return "created at " + diag.Short(u.New)
	case u.New == git.Zero:
		return "deleted, was " + diag.Short(u.Old)
	}
	return diag.Short(u.Old) + ".." + diag.Short(u.New)
}

// transport is a hash of a transport's session data: equal in both hooks of a push, and rarely
// equal in two pushes.
func transport(getenv func(string) string) string {
	var b strings.Builder
	for _, name := range []string{"SSH_CONNECTION", "REMOTE_ADDR", "REMOTE_PORT", "REMOTE_USER", "GL_ID", "GL_USERNAME", "GL_USER", "GL_REPO", "GL_TID",
		"GITEA_PUSHER_NAME", "GITEA_PUSHER_ID", "GITEA_KEY_ID", "WARD_USER", token.IDVar} {
		b.WriteString(name + "=" + getenv(name) + "\x00")
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}
