package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"git-ward/agent/model"
	"git-ward/agent/preset"
	"git-ward/agent/stop"
	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// worker does what a directive asks, in its working tree (AGT-3): a model that
// takes turns with tools, or a command.
type worker interface {
	// do goes on until the worker says that it is done, and returns its last
	// words. The refusal is "" at first, and later the findings for which the push
	// of its work was refused. The error is stop.Unfinished, Spent or Blocked when
	// it did not come to an end of its own.
	do(ctx context.Context, refusal string) (words string, err error)
}

// unpaid makes the end of a command that of a spent budget where it passes on what
// the gateway says then (sandbox/gateway, spent): its calls are not seen here.
func unpaid(s *stop.Stop, output string) {
	if strings.Contains(output, "ward: the budget of ") || strings.Contains(output, "ward: the time of this launch") {
		s.Kind, s.Why = stop.Spent, "The model is not paid for any more. "+s.Why
	}
}

// scriptSize bounds a script in main's tree.
const scriptSize = 4 << 20

// checkModel refuses a model that this version does not have, or that lacks a
// setting, before anything is done.
func checkModel(c *config.Config) error {
	switch name := c.Model.Name; name {
	case "script":
		return nil
	case "exec":
		return checkCommand(c)
	case anthropicName, openAIName:
		return checkProvider(c)
	case "":
		return diag.Hint(errors.New("no model is configured"),
			`set [model] name in <bare>/ward/config.toml; "anthropic" and "openai" think, "exec" runs any command, "script" plays prepared turns`)
	default:
		if p := preset.Of(name); p != nil {
			return checkProgram(p, c)
		}
		return diag.Hint(fmt.Errorf("[model] name = %q: there is no such model", name), `there are "anthropic", "openai", "claude-code", "codex", "opencode", "exec" and "script"`)
	}
}

// newWorker makes the configured worker, from what main says now.
func (j *job) newWorker(ctx context.Context, main store.Snapshot, system string) (worker, error) {
	var m model.Model
	var err error
	switch j.Config.Model.Name {
	case "exec", "claude-code", "codex", "opencode":
		return j.newCommand(system), nil
	case anthropicName, openAIName:
		m, err = j.openProvider()
	default:
		m, err = openScript(ctx, j.Config.Model.Script, main)
	}
	if err != nil {
		return nil, err
	}
	return j.newConversation(m, system), nil
}

// openScript reads the script of main, or else the built-in one.
func openScript(ctx context.Context, path string, main store.Snapshot) (model.Model, error) {
	if path != "" {
		custom, err := main.File(ctx, path, scriptSize)
		switch {
		case err == nil:
			return model.ParseScript(custom, path)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return model.ParseScript(model.BuiltinScript, model.BuiltinName)
}
