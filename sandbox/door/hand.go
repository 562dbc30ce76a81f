package door

import (
	"context"
	"errors"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
)

// workRequest asks for work for one worker of a launcher on another machine.
var workRequest = pattern.New(`^ward work ([1-9][0-9]{0,2})( once)?$`)

var errHand = errors.New("this key may only ask for work")

// serveHand serves the permanent key of a launcher on another machine. The key may only ask
// the launcher here for work; the work comes with a key for its own lease.
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
