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
	"git-ward/agent/model"
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
	Preset *preset.Preset // what is run; nil: [model] command
	Models *model.Order   // that a preset is told to use, the next where one is away; nil: [model] id
	// Prompt is all that it is told, but for the orientation and a refusal, which are
	// found here.
	Prompt     prompt.Prompt
	Iteration  string            // of the loop, such as "0"; "" without one
	Gate       *interaction.Gate // counts what its stream reports; may be nil
	Dir        string            // the working tree
	State      string            // the agent's state directory
	Unit, Bare string            // for the orientation: the unit, and the remote on this machine
	Executable string            // ward-agent's; Ward's MCP server lies beside it
	Settings   string            // the file of the host's settings, for that server; "" for none
	Env        []string          // the whole environment of the agent's children
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
	if p.Models != nil && refusal == "" {
		p.Models.Begin()
	}
	began, from := time.Now(), p.head(ctx)
	var earlier interaction.Done // of models that are away
	for {
		a := &attempt{program: p, activity: log, began: began, before: p.account(ctx), from: from, earlier: earlier}
		if err := a.run(ctx, path); err != nil {
			return earlier, err
		}
		done, err := a.end(ctx)
		if p.Preset == nil || p.Models == nil || ctx.Err() != nil || !a.away || !p.Models.Next(err.Error()) {
			return done, err
		}
		earlier = done
		p.Prompt.Kept = true // what it made so far is in the tree
		if path, err = p.writePrompt(refusal); err != nil {
			return done, err
		}
	}
}

// plus is what two attempts came to, the last words being those of the second.
func plus(before, done interaction.Done) interaction.Done {
	done.Tally.Turns += before.Tally.Turns
	done.Tally.Calls += before.Tally.Calls
	done.Tally.Usage.Add(before.Tally.Usage)
	if before.Transcript != "" {
		done.Transcript = before.Transcript + "\n\n" + done.Transcript
	}
	return done
}

// Told returns the text that the command reads in an iteration: the capsule at
// capsulePath, relative to the command's working tree.
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
