package podman

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/internal/diag"
	"git-ward/sandbox/probe"
)

const (
	// proofPatience is how long a container may take to start and try its fence.
	proofPatience = probe.Patience + 20*time.Second
	// lastWord is how long an ending first process's last message may take to arrive.
	lastWord = time.Second
)

// proved waits until a started container reports that its fence holds. It fails if it does
// not, or not in time.
func (c *Container) proved(ctx context.Context, patience time.Duration) error {
	if c.life == nil || c.life.proof == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.engine.api.wait(limited, c.ID)
	}()
	select {
	case err := <-c.life.proof:
		return err
	case <-ended:
	}
	select {
	case err := <-c.life.proof:
		return err
	case <-time.After(lastWord):
	}
	err := errors.New("it ended before it said whether the fence holds")
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		err = fmt.Errorf("whether the fence holds was not said within %v", patience)
	}
	return diag.Hint(err, "set [sandbox] runtime to another, such as %s", DefaultRuntime)
}
