// Package sandbox runs an agent on a repository: beside it, on the host's side,
// stand what it may not be trusted with, first of all the git door.
//
// In this version the agent runs unfenced, as a plain process of its user
// (SBX-8), and only when that is asked for by name.
package sandbox

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/sandbox/door"
)

const usage = "launch --bare DIR --unfenced [--once] [--detach] [--model NAME] [--state DIR]"

// script is the only model that may run without a fence (SBX-8): it does what
// its lines say.
const script = "script"

// Command is `git ward launch`.
func Command(ctx context.Context, env *cli.Env) error {
	if !signal.Ignored(syscall.SIGHUP) { // a closed terminal ends it in good order
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	if len(env.Args) > 0 {
		sub := *env
		sub.Args = env.Args[1:]
		switch env.Args[0] {
		case "logs":
			return Logs(ctx, &sub)
		case "stop":
			return Stop(ctx, &sub)
		}
	}
	spec, err := parse(ctx, env)
	if err != nil {
		return err
	}
	if spec.Detach {
		return detach(ctx, spec, withoutDetach(env.Args))
	}
	fmt.Fprintf(env.Stderr, "unfenced: the agent runs as you (user %s) with your rights; nothing is contained\n", userName())
	return Launch(ctx, spec)
}

// withoutDetach are the arguments for the launcher in the background.
func withoutDetach(args []string) []string {
	return append([]string{"launch"}, slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return strings.TrimLeft(arg, "-") == "detach"
	})...)
}

// Verbs are what the program git-ward-launch does, by its first argument; the
// table in main.go leads there.
func Verbs() map[string]cli.Func {
	return map[string]cli.Func{"launch": Command, "status": Status}
}

// Main picks the verb.
func Main(ctx context.Context, env *cli.Env) error {
	if len(env.Args) == 0 || Verbs()[env.Args[0]] == nil {
		return cli.Hint(errors.New("this program is started by git-ward"), "`git ward help` lists the commands")
	}
	sub := *env
	sub.Args = env.Args[1:]
	return Verbs()[env.Args[0]](ctx, &sub)
}

// parse makes a Spec of the arguments, or says why there is none.
func parse(ctx context.Context, env *cli.Env) (*Spec, error) {
	var bare, state, model string
	var unfenced, once, detached bool
	rest, err := env.Flags("launch", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the bare repository `DIR` to work on")
		fs.BoolVar(&unfenced, "unfenced", false, "run the agent as you, with nothing contained")
		fs.BoolVar(&once, "once", false, "end when no directive is open")
		fs.BoolVar(&detached, "detach", false, "go on in the background")
		fs.StringVar(&model, "model", "", "the model `NAME`, instead of [model] name")
		fs.StringVar(&state, "state", "", "the agent's own `DIR` (default below $XDG_STATE_HOME/ward)")
	})
	switch {
	case err != nil:
		return nil, err
	case len(rest) > 0:
		return nil, env.Usage(usage, "unexpected argument %q", rest[0])
	case bare == "":
		return nil, env.Usage(usage, "--bare is missing")
	}
	s := &Spec{Once: once, Detach: detached, Stdout: env.Stdout, Stderr: env.Stderr, RuntimeDir: runtimeDir(env.Getenv)}
	if err := s.open(ctx, env.Path(bare)); err != nil {
		return nil, err
	}
	if s.Model, err = chooseModel(s, model, unfenced, env.Stderr); err != nil {
		return nil, err
	}
	if state != "" {
		s.State = env.Path(state)
	} else if s.State, err = defaultState(s.Bare, env.Getenv); err != nil {
		return nil, err
	}
	s.Agent, err = findAgent()
	return s, err
}

// open fills in the repository. Its path has no symbolic links, so that one
// repository has one state directory however it is called.
func (s *Spec) open(ctx context.Context, bare string) (err error) {
	if s.Bare, err = filepath.EvalSymlinks(bare); err != nil {
		return cli.Hint(err, "`git ward init --bare DIR` makes a repository")
	}
	if err := door.Check(ctx, s.Bare); err != nil {
		return err
	}
	s.Settings, err = config.Load(s.Bare)
	return err
}

// chooseModel fails closed: without a fence only the script runs, and without
// --unfenced nothing does, because launch never falls back by itself (SBX-8).
func chooseModel(s *Spec, flagged string, unfenced bool, stderr io.Writer) (string, error) {
	path := filepath.Join(s.Bare, config.Path)
	name := flagged
	if name == "" {
		name = s.Settings.Model.Name
	}
	if !unfenced {
		err := errors.New("the fence is not built yet in this version: launch cannot contain an agent")
		if name == "" {
			err = errors.Join(err, fmt.Errorf("no model is configured: [model] name in %s is empty", path))
		}
		return "", cli.Hint(err, "--unfenced runs the script model with your rights and nothing contained")
	}
	switch name {
	case script:
	case "":
		fmt.Fprintf(stderr, "no model is configured ([model] name in %s): the model %q runs\n", path, script)
	default:
		return "", cli.Hint(fmt.Errorf("the model %q needs the fence; unfenced runs the model %q only", name, script),
			"`--model %s` chooses it for this launch", script)
	}
	return script, nil
}

// runtimeDir is where the socket goes: the user's short-lived directory if the
// session has one, else the temporary directory (empty).
func runtimeDir(getenv func(string) string) string {
	dir := getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Geteuid())
}
