package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"git-ward/agent/gateway"
	"git-ward/agent/model"
	"git-ward/agent/model/anthropic"
	"git-ward/agent/model/openai"
	"git-ward/agent/program"
	"git-ward/agent/store"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// scriptSize bounds a script in main's tree, in bytes.
const scriptSize = 4 << 20

// checkModel refuses an unknown model, or one whose settings are incomplete, before anything
// is done.
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
	case w.Kind == config.Program, w.Kind == config.Command:
		return program.Check(c)
	}
	return nil
}

// checkProvider refuses settings by which no model can be called.
func checkProvider(c *config.Config) error {
	if c.Model.ID == "" {
		return diag.Hint(fmt.Errorf("[model] name = %q needs [model] id, which is empty", c.Model.Name),
			"set it in <bare>/ward/config.toml to the model's name at the provider; what it costs is in [[prices]]")
	}
	if c.Model.MaxOutput >= c.Model.Context {
		return diag.Hint(fmt.Errorf("[model] max_output = %d leaves nothing of context = %d", c.Model.MaxOutput, c.Model.Context),
			"max_output is a part of context, in tokens")
	}
	return nil
}

// order returns the models in the settings, the preferred one first. instead is called at each switch.
func order(c *config.Config, instead func(string)) model.Order {
	return model.Order{Names: append([]string{c.Model.ID}, c.Model.Also...), Pause: c.Agent.RetryPause.Duration, Note: instead}
}

// openModel makes the model in the settings; nil if the worker is a program. waits is called at each wait.
func openModel(ctx context.Context, d *deps, main store.Snapshot, waits func(model.Wait), order model.Order) (model.Model, error) {
	w, _ := config.FindWorker(d.config.Model.Name)
	switch w.Kind {
	case config.Command, config.Program:
		return nil, nil
	case config.API:
		return openProvider(d, w.Provider, waits, order)
	}
	return openScript(ctx, d.config.Model.Script, main)
}

// openProvider makes a provider's model. It is reachable only through the gateway. The forwarder sets the
// gateway's address and a placeholder key in the environment, so that no real key is ever in the fence
// (SBX-7).
func openProvider(d *deps, provider config.Provider, waits func(model.Wait), order model.Order) (model.Model, error) {
	set := d.config.Model
	variable := gateway.OpenAI
	if provider == config.Anthropic {
		variable = gateway.Anthropic
	}
	base, err := gateway.URL(d.getenv, variable)
	if err != nil {
		return nil, err
	}
	all := &model.Standby{Order: order}
	for _, id := range order.Names {
		var m model.Model
		o := openai.Options{BaseURL: base, Key: d.getenv("OPENAI_API_KEY"), ID: id, Output: set.MaxOutput, Silence: set.Silence.Duration}
		switch {
		case provider == config.Anthropic:
			m = anthropic.New(anthropic.Options{BaseURL: base, Key: d.getenv("ANTHROPIC_API_KEY"),
				ID: id, Output: set.MaxOutput, Silence: set.Silence.Duration})
		case set.API == "chat":
			m = openai.NewChat(o)
		default:
			m = openai.NewResponses(o)
		}
		all.Models = append(all.Models, &model.Patience{Model: m, Tries: set.Tries, Busy: set.Patience.Duration, Note: waits})
	}
	return &model.Window{Model: all, Tokens: set.Context, Output: set.MaxOutput}, nil
}

// openScript reads the control branch's script, or else the built-in one.
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
