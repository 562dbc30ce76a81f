package bootstrap

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"git-ward/bootstrap/supervisor"
)

// program is the agent's own program, for work in the repository that needs the agent's
// rights: the watcher may only report.
type program struct {
	supervisor *supervisor.Supervisor
	path       string
	dir        string   // where it runs
	repoArgs   []string // the flags with all paths
}

const (
	// pushTime bounds a push, because the agent waits for it.
	pushTime = 2 * time.Minute
	// maxAnswer bounds the program's output, in bytes.
	maxAnswer = 1 << 20
)

// run runs a verb of the program.
func (p *program) run(ctx context.Context, args ...string) (output string, err error) {
	var out bytes.Buffer
	err = p.supervisor.Run(ctx, supervisor.Command{Dir: p.dir, Time: pushTime, Output: &out, Limit: maxAnswer,
		Args: append(append([]string{p.path}, args...), p.repoArgs...)})
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", args[0], err, supervisor.LastLines(out.String()))
	}
	return out.String(), err
}

// rescue pushes the unpushed work in a tree (trees.Rescue).
func (p *program) rescue(ctx context.Context, tree string, uncommitted bool) (branches []string, err error) {
	args := []string{"rescue", "--tree", tree}
	if !uncommitted {
		args = append(args, "--commits")
	}
	output, err := p.run(ctx, args...)
	for line := range strings.Lines(output) {
		if branch, ok := strings.CutPrefix(strings.TrimSpace(line), "rescued "); ok {
			branches = append(branches, branch)
		}
	}
	return branches, err
}
