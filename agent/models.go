package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"git-ward/agent/model"
	"git-ward/agent/store"
	"git-ward/internal/cli"
	"git-ward/internal/config"
)

// scriptSize bounds a script in main's tree.
const scriptSize = 4 << 20

// checkModel refuses a model that this version does not have, before anything is
// done.
func checkModel(name string) error {
	switch name {
	case "script":
		return nil
	case "":
		return cli.Hint(errors.New("no model is configured"), `set [model] name in <bare>/ward/config.toml; "script" plays prepared turns`)
	}
	return cli.Hint(fmt.Errorf("[model] name = %q: there is no such model", name), `this version has "script"`)
}

// openModel makes the configured model, from what main says now.
func openModel(ctx context.Context, c *config.Config, main store.Snapshot) (model.Model, error) {
	name, data := model.BuiltinName, model.BuiltinScript
	if path := c.Model.Script; path != "" {
		custom, err := main.File(ctx, path, scriptSize)
		switch {
		case err == nil:
			name, data = path, custom
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return model.ParseScript(data, name)
}
