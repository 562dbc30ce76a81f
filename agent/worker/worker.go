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
	name := c.Model.Name
	if name == "" {
		return diag.Hint(errors.New("no model is configured"), "set [model] name in <bare>/ward/config.toml to one of %s", config.WorkerNames())
	}
	w, known := config.FindWorker(name)
	switch {
	case !known:
		return diag.Hint(fmt.Errorf("[model] name = %q: there is no such model", name), "there are %s", config.WorkerNames())
	case w.Kind == config.API:
		return checkProvider(c)
	case w.Kind == config.Program:
		return checkProgram(preset.Of(name), c)
	case w.Kind == config.Command:
		return checkCommand(c)
	}
	return nil
}

// newWorker makes the configured worker, from what main says now.
func (j *job) newWorker(ctx context.Context, main store.Snapshot, system string) (worker, error) {
	var m model.Model
	var err error
	configured, _ := config.FindWorker(j.Config.Model.Name)
	switch configured.Kind {
	case config.Command, config.Program:
		return j.newCommand(system), nil
	case config.API:
		m, err = j.openProvider(configured.Provider)
	case config.Script:
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
