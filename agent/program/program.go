// Package program lets a command do the work: any that the settings name, or one of
// the agent programs that people have (agent/preset). It is run once, and once more
// for each refusal, and knows what its prompt says and what the working tree holds.
package program

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"git-ward/agent/gateway"
	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/preset"
	"git-ward/agent/prompt"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

const (
	// wordsSize bounds the last bytes of a command's output that go into the report,
	// and with them the message of a commit.
	wordsSize = 4 << 10
	// maxOutput is how much a command may print before it is stopped. An agent may
	// chatter for hours; the file of its output takes less (tool.Command).
	maxOutput = 1 << 30
)

// Program is a command that works on one directive.
type Program struct {
	Config     *config.Config
	Preset     *preset.Preset // what is run; nil: [model] command
	Prompt     prompt.Prompt
	Dir        string   // the working tree
	State      string   // the agent's own directory
	Executable string   // ward-agent's; Ward's MCP server lies beside it
	Env        []string // the whole environment of the agent's children
	Getenv     func(name string) string
	Log        zerolog.Logger
}

// Solve runs the command in the working tree. The refusal is why the push of the
// work before was refused, "" at first. Of its uses of tools a command counts as one, unless
// its stream tells what it did inside. The error is stop.Unfinished or Spent when it did not come to an end of its own.
func (p *Program) Solve(ctx context.Context, refusal string) (done interaction.Done, err error) {
	path, err := p.write(refusal)
	if err != nil {
		return done, err
	}
	defer os.Remove(path)
	inv, err := p.invocation(path)
	if err != nil {
		return done, err
	}
	before := p.account(ctx)
	start := time.Now()
	out, err := p.run(ctx, inv, path)
	if err != nil {
		done.Tally.Calls = 1
		return done, err
	}
	end := p.ending(inv.reading, out, time.Since(start))
	done.Tally = end.tally
	if end.failed == nil {
		done.Words = end.words
		return done, nil
	}
	if why := p.account(ctx).SpentSince(before); why != "" {
		p.Log.Warn().Str("account", diag.Clean(why)).Msg("the gateway did not pay for the command's last call")
		end.failed.Kind, end.failed.Why = stop.Spent, "The model is not paid for any more. "+end.failed.Why
	}
	return done, end.failed
}

// Told is what the command is told of an iteration: the file of its capsule, which
// lies in its working tree.
func (p *Program) Told(capsulePath string) (string, error) {
	data, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(capsulePath)))
	return string(data), err
}

// account is the gateway's; the zero one where there is no gateway, or it does not
// answer: then the end of the command counts as its own.
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

// run runs the command with the prompt as its stdin, or with nothing.
func (p *Program) run(ctx context.Context, inv *invocation, path string) (*tool.Outcome, error) {
	cmd := tool.Command{
		Args: inv.args, Dir: p.Dir, Env: inv.env, Tee: inv.tee, Timeout: p.Config.Model.Timeout.Duration,
		Kind: "exec", Logs: filepath.Join(p.State, "logs"), Size: 2 * wordsSize, Limit: maxOutput,
	}
	if p.Preset != nil || p.Config.Model.Prompt != "file" {
		stdin, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer stdin.Close()
		cmd.Stdin = stdin
	}
	p.Log.Info().Str("command", diag.Clean(cmd.Args[0])).Dur("timeout_ms", cmd.Timeout).Msg("the command begins")
	start := time.Now()
	out, err := cmd.Run(ctx)
	if err != nil {
		if ctx.Err() == nil {
			err = diag.Hint(fmt.Errorf("[model] command: %w", err), "the command must be there where the agent runs: inside the fence, in the image")
		}
		return nil, err
	}
	event := p.Log.Info()
	if !out.OK() {
		event = p.Log.Warn()
	}
	event.Str("end", out.End()).Dur("ms", time.Since(start)).Str("output", out.Log()).Msg("the command ended")
	return out, nil
}

// ending is what a command that ran came to: words, or why it failed.
type ending struct {
	words  string
	tally  model.Tally
	failed *stop.Stop
}

// ending reads a command's end from its stream, where that is known (reading), and
// else from its exit code. An exit code alone is not believed of a known program.
func (p *Program) ending(reading *preset.Reading, out *tool.Outcome, took time.Duration) ending {
	log := filepath.Base(out.Log())
	if reading == nil {
		last := out.Tail(wordsSize)
		if out.OK() {
			return ending{words: cmp.Or(last, "The command printed nothing.") + uncounted(took), tally: model.Tally{Calls: 1}}
		}
		failed := stop.New(stop.Unfinished, "The command of [model] command failed: %s.", out.End())
		if last != "" {
			failed.Output = fmt.Sprintf("The last of its output (logs/%s has more):\n\n%s", log, diag.Indent(last))
		}
		return ending{tally: model.Tally{Calls: 1}, failed: failed}
	}
	tally := model.Tally{Turns: reading.Turns, Calls: max(1, reading.Calls), Usage: reading.Usage}
	if out.OK() && reading.Ended {
		return ending{words: tool.Tail(cmp.Or(reading.Words, p.Preset.Name+" said nothing."), wordsSize) + tally.Sentence(), tally: tally}
	}
	failed := stop.New(stop.Unfinished, "%s ended without a result: %s.", p.Preset.Name, out.End())
	if why := cmp.Or(reading.Failed, out.Tail(wordsSize)); why != "" {
		failed.Output = fmt.Sprintf("It said (logs/%s has more):\n\n%s", log, diag.Indent(tool.Tail(why, wordsSize)))
	}
	return ending{tally: tally, failed: failed}
}

// uncounted is what a report says of a command whose stream is not known: its
// calls cannot be counted, its time can (AGT-3).
func uncounted(took time.Duration) string {
	return fmt.Sprintf("\n\n(It took %s; its calls of tools are not counted, because Ward does not know its output.)", took.Round(time.Second))
}
