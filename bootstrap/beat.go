package bootstrap

import (
	"context"
	"io"
	"time"

	"git-ward/protocols/boot"
)

// beats is the number of signs of life per [launch] silence, the time that the launcher waits
// for one.
const beats = 12

// beat writes signs of life at that rate until ctx ends. It writes the first before it
// returns, and Run calls it before it starts any process: so in a new container the agent
// cannot delay it, and the launcher does not take this watcher for an older version, which
// gives none. The others come from a goroutine of their own, because a build blocks the
// watcher's. SIGSTOP and the freezer stop both.
func beat(ctx context.Context, to io.Writer, every time.Duration) {
	if to == nil {
		return
	}
	io.WriteString(to, boot.Lives)
	go func() {
		next := time.NewTicker(every)
		defer next.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-next.C:
				io.WriteString(to, boot.Lives)
			}
		}
	}()
}
