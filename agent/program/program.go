// Package program lets a command do the work: any that the settings name, or one of
// the agent programs that people have (agent/preset). It is run once, and once more
// for each refusal, and knows what its prompt says and what the working tree holds. What
// the protocols want of whoever works is done around it (WORK-1).
package program

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/activity"
	"git-ward/agent/gateway"
	"git-ward/agent/interaction"
	"git-ward/agent/preset"
	"git-ward/agent/prompt"
	"git-ward/internal/config"
)

const (
	// wordsSize bounds the end of a command's output for the report and the commit message.
	wordsSize = 4 << 10
	// maxOutput is how much a command may print before it is stopped. An agent may print for
	// hours; its output file is smaller (tool.Command).
	maxOutput = 1 << 30
)

// Program is a command that works on one directive.
type Program struct {
	Config *config.Config
	Preset *preset.Preset // the command; nil: [model] command
	// Prompt is the input, to which the orientation and a refusal are added here.
	Prompt     prompt.Prompt
	Iteration  string            // of the loop, such as "0"; "" without one
	Gate       *interaction.Gate // counts what its stream reports; may be nil
	Dir        string            // the working tree
	State      string            // the agent's state directory
	Unit, Bare string            // for the orientation: the unit, and the remote on this machine
	Executable string            // path of ward-agent, with Ward's MCP server in the same directory
	Env        []string          // complete environment of the agent's children
	Getenv     func(name string) string
	Redact     func(string) string // removes secrets from the activity log; may be nil
	Live       *interaction.Live   // gets the work's events; may be nil
	AskGrace   time.Duration       // how long it may run on after a question to the PM
	Log        zerolog.Logger
}

// AskGrace is how long a command may go on after it has asked the PM.
const AskGrace = 20 * time.Second

// Solve does around a command what a model is led through (WORK-1): the orientation
// before it, the log and the counts while it runs, the post-mortem after it. The refusal
// is why the push of the work before was refused, "" at first. The error is
// stop.Unfinished, Spent, Blocked, Asked or Suspended when it did not come to an end of
// its own; what it did is told with it.
func (p *Program) Solve(ctx context.Context, refusal string) (done interaction.Done, err error) {
	log, err := activity.Open(filepath.Join(p.State, "logs"))
	if err != nil {
		return done, err
	}
	log.Redact = p.Redact
	if refusal == "" {
		if p.Prompt.Orientation, err = p.begin(ctx, log); err != nil {
			return done, err
		}
	}
	path, err := p.writePrompt(refusal)
	if err != nil {
		return done, err
	}
	defer os.Remove(path)
	r := &attempt{program: p, activity: log, began: time.Now(), before: p.account(ctx), from: p.head(ctx)}
	if err := r.run(ctx, path); err != nil {
		return done, err
	}
	return r.end(ctx)
}

// Told is what the command is told of an iteration: the file of its capsule, which
// lies in its working tree.
func (p *Program) Told(capsulePath string) (string, error) {
	data, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(capsulePath)))
	return string(data), err
}

// account is the gateway's account; zero without a gateway or an answer, and then only the
// command's own end counts.
func (p *Program) account(ctx context.Context) gateway.Account {
	base := p.Getenv(gateway.Anthropic)
	if base == "" {
		return gateway.Account{}
	}
	a, err := gateway.ReadAccount(ctx, base)
	if err != nil {
		p.Log.Warn().Err(err).Msg("the gateway's account cannot be read")
	}
	return a
}
