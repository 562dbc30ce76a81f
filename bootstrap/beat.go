package bootstrap

import (
	"context"
	"io"
	"time"

	"git-ward/protocols/boot"
)

// beats is how many signs of life the watcher gives in the time that its launcher waits for one,
// [launch] silence.
const beats = 12

// beat gives signs of life until ctx ends, so often. The first is written before it returns, and Run calls
// it before it starts any process: in a new container nothing of the agent's is there yet that could
// hold it back, and have the launcher take this watcher for an older one, which gives none. A loop of
// its own gives the others, because a build keeps the watcher's for as long as it takes. SIGSTOP and
// the freezer stop both.
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
