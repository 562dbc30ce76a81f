// Command ward-agent is the agent's process: it works on the directives of one
// bare repository, and as `ward-agent connect` it is the client of the door that
// its pushes go through.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"git-ward/agent/launch"
	"git-ward/agent/store"
	"git-ward/agent/worker"
	"git-ward/hooks/secret"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
	"git-ward/protocols/lease"
)

const usage = "ward-agent --bare DIR --state DIR --config FILE [--door SOCKET] [--model NAME] [--once] [--directive D-n]"

func main() { cli.Main("ward-agent", run) }

// run is the command. git starts it as `connect` in place of receive-pack, and the watcher as
// `rescue`.
func run(ctx context.Context, env *cli.Env) error {
	verbs := map[string]cli.Func{"connect": connect, "rescue": rescue}
	if len(env.Args) > 0 && verbs[env.Args[0]] != nil {
		return verbs[env.Args[0]](ctx, env)
	}
	var bare, state, door, file, name, directive string
	var once bool
	err := env.Only("ward-agent", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the bare repository that holds the directives, a `DIR`")
		fs.StringVar(&state, "state", "", "the agent's own `DIR`: clones, logs, signals")
		fs.StringVar(&file, "config", "", "the settings, a `FILE` like config.toml")
		fs.StringVar(&door, "door", "", "push through this `SOCKET`; without it, straight into the repository")
		fs.StringVar(&name, "model", "", "the model, in place of [model] `NAME`")
		fs.BoolVar(&once, "once", false, "end when no directive is open")
		fs.StringVar(&directive, "directive", "", "work on the directive `D-n` only, and end")
	})
	switch {
	case err != nil:
		return err
	case directive != "" && !lease.IsDirective(directive):
		return env.Usage(usage, "--directive %q is no directive, such as D-3", directive)
	case bare == "" || state == "" || file == "":
		return env.Usage(usage, "--bare, --state and --config are needed")
	}
	set := worker.Settings{
		Store:  store.Options{Bare: env.Path(bare), State: env.Path(state), Settings: env.Path(file)},
		Launch: launch.From(env.Getenv), Once: once || directive != "" && env.Getenv(boot.LeaseVar) == "", Directive: directive, Stderr: env.Stderr, Redact: secret.Redactor(), Getenv: env.Getenv,
	}
	if env.Getenv(boot.LiveVar) != "" {
		set.Heard = filepath.Dir(env.Path(file))
		set.Live = cli.Raw(env.Stdout)
	}
	if door != "" {
		set.Store.Door = env.Path(door)
	}
	if set.Store.Executable, err = os.Executable(); err != nil {
		return err
	}
	if set.Config, err = readConfig(env.Path(file)); err != nil {
		return err
	}
	if name != "" {
		set.Config.Model.Name = name
	}
	ctx, done := git.Keep(ctx)
	defer done()
	err = worker.Run(ctx, set)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; start the agent again to go on")
	}
	return err
}

// readConfig reads a settings file, the launcher's copy of the host's.
func readConfig(path string) (*config.Config, error) {
	data, err := config.ReadFile(path)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("--config: %w", err), "give a copy of <bare>/ward/config.toml")
	}
	return config.Parse(data, path)
}
