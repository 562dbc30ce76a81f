package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
)

const connectUsage = "ward-agent connect SOCKET [IGNORED]"

// connect joins stdin and stdout with the door. git appends the repository's path to the
// command; the door serves one repository and ignores it.
func connect(ctx context.Context, env *cli.Env) error {
	args := env.Args[1:]
	if len(args) < 1 || len(args) > 2 {
		return env.Usage(connectUsage, "connect takes the socket of the door")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", args[0])
	if err != nil {
		return diag.Hint(fmt.Errorf("the door is not there: %w", err), "pushes go through `git ward launch` on the host; is it running?")
	}
	door := conn.(*net.UnixConn)
	defer door.Close()
	defer context.AfterFunc(ctx, func() { door.Close() })()
	go func() {
		io.Copy(door, env.Stdin)
		door.CloseWrite() // git has sent everything; the answer may still come
	}()
	// The door ends the connection: stdin may stay open after it.
	_, err = io.Copy(cli.Raw(env.Stdout), door)
	if ctx.Err() == nil && (err == nil || errors.Is(err, syscall.EPIPE)) {
		return nil // git closes it when it has read what it needs
	}
	return fmt.Errorf("the door closed the connection: %w", errors.Join(ctx.Err(), err))
}
