package podman

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"git-ward/internal/diag"
	"git-ward/sandbox/probe"
)

const (
	// proofPatience is how long a container may take to start and to try its fence.
	proofPatience = probe.Patience + 20*time.Second
	// lastWord is how long what a first process said as it ended may be on its way.
	lastWord = time.Second
	// proofSize bounds what a first process says.
	proofSize = 1 << 16
)

// heed reads what a container's first process says of its fence, before anything else runs
// there, and gives leave to start where it holds.
func heed(conn net.Conn) error {
	line, err := bufio.NewReader(io.LimitReader(conn, proofSize)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the fence's own trial ended before it said anything: %w", err)
	}
	var report probe.Report
	if err := json.Unmarshal(line, &report); err != nil {
		return fmt.Errorf("the fence's own trial said nothing that can be read: %w", err)
	}
	if err := report.Err(); err != nil {
		return errors.New(diag.Clean(err.Error()))
	}
	_, err = conn.Write([]byte{2})
	return err
}

// proved waits until a started container has said that its fence holds. An error is that
// it has not, or does not in time.
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
