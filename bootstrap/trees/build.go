package trees

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"git-ward/bootstrap/supervisor"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// commands returns the commands in the settings or, if there are none and main is Ward, Ward's own.
func (t *Trees) commands(ctx context.Context) boot.Commands {
	c, _ := boot.Commands(t.Settings.Commands()).OrWard(func() (bool, error) { return t.Remote.IsWard(ctx), nil })
	return c
}

// RunCommand returns the command that starts the tree's own agent, nil for the agent that ships with Ward.
func (t *Trees) RunCommand(ctx context.Context, dir string) []string {
	run := t.commands(ctx).Run
	if len(run) > 0 && strings.Contains(run[0], "/") && !filepath.IsAbs(run[0]) {
		run = append([]string{filepath.Join(dir, run[0])}, run[1:]...)
	}
	return run
}

// buildLogSize bounds build.log, in bytes; one old file is kept.
const buildLogSize = 16 << 20

// try runs one of the tree's own commands with the tree's rights, within a time limit and with
// bounded output. An empty command succeeds.
func (t *Trees) try(ctx context.Context, what, dir string, command []string, limit time.Duration) error {
	if len(command) == 0 {
		return nil
	}
	t.Log.Info().Str("tree", dir).Strs("command", command).Msg(what)
	log, err := t.Dir.OpenLog(t.Dir.BuildLog(), buildLogSize)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(log, "--- %s %s in %s\n", time.Now().UTC().Format(time.RFC3339), what, dir)
	out := &output{log: diag.NewScreen(log)}
	err = t.Supervisor.Run(ctx, supervisor.Command{Dir: dir, Time: limit, Output: out, Args: command})
	if err == nil {
		return nil
	}
	if last := out.tail.LastLines(); last != "" {
		return fmt.Errorf("%s: %w: %s", what, err, last)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// output passes on what is written and keeps the end of it.
type output struct {
	log  io.Writer
	tail supervisor.Tail
}

// Write never fails: a full disk does not end a build by itself.
func (o *output) Write(p []byte) (int, error) {
	o.log.Write(p)
	return o.tail.Write(p)
}
