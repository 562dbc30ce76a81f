package door

import (
	"context"
	"errors"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// workRequest is what a launcher on another machine asks for, for one of its workers.
var workRequest = pattern.New(`^ward work ([1-9][0-9]{0,2})( once)?$`)

var errHand = errors.New("this key asks for work, and no more")

// serveHand serves the standing key of a launcher on another machine: it asks the launcher
// here for work, and no more. What it gets has a key of its own, for the lease of that work.
func (s *Session) serveHand(ctx context.Context) error {
	m := workRequest.FindStringSubmatch(s.Command)
	if m == nil {
		return diag.Hint(&Lost{errHand}, "git ward launch --gate URL, on the machine that has the key")
	}
	conn, err := s.Work(ctx, s.Hand+"."+m[1], m[2] != "")
	if err != nil {
		return err
	}
	return joinConn(ctx, conn)
}
