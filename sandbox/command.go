// Package sandbox runs an agent on a repository, in a container that is fenced
// before it starts. Beside it, on the host's side, stands what it may not be
// trusted with: the git door, and the gateway with the models' keys. Unfenced, as
// a plain process of its user, it runs only when that is asked for (SBX-8).
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
	"git-ward/internal/diag"
	"git-ward/sandbox/door"
	"git-ward/sandbox/firewall"
)

const usage = "launch --bare DIR [--once] [--detach] [--model NAME] [--state DIR] [--unfenced] [--raw] [-- CMD ...]"

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
	if spec.Unfenced {
		fmt.Fprintf(env.Stderr, "unfenced: the agent runs as you (user %s) with your rights; nothing is contained\n", userName())
	} else {
		fmt.Fprintln(env.Stderr, egressMeans[spec.Settings.Egress.Mode])
	}
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
	return map[string]cli.Func{"launch": Command, "status": Status, "image": Image, "probe": Probe, "firewall": ShowFirewall, "verify": Verify,
		FirewallChild: func(ctx context.Context, env *cli.Env) error {
			return firewall.Child(ctx, env.Stdin, cli.Raw(env.Stdout))
		}}
}

// Main picks the verb.
func Main(ctx context.Context, env *cli.Env) error {
	if len(env.Args) == 0 || Verbs()[env.Args[0]] == nil {
		return diag.Hint(errors.New("this program is started by git-ward"), "`git ward help` lists the commands")
	}
	sub := *env
	sub.Args = env.Args[1:]
	return Verbs()[env.Args[0]](ctx, &sub)
}

// parse makes a Spec of the arguments, or says why there is none.
func parse(ctx context.Context, env *cli.Env) (*Spec, error) {
	var bare, state, model string
	var once, detached bool
	s := &Spec{Stdout: env.Stdout, Stderr: env.Stderr, RuntimeDir: runtimeDir(env.Getenv), Getenv: env.Getenv, Storage: env.Getenv(storageVar)}
	rest, err := env.Flags("launch", usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the bare repository `DIR` to work on")
		fs.BoolVar(&s.Unfenced, "unfenced", false, "run the agent as you, with nothing contained")
		fs.BoolVar(&once, "once", false, "end when no directive is open")
		fs.BoolVar(&detached, "detach", false, "go on in the background")
		fs.BoolVar(&s.Raw, "raw", false, "let a command write to the terminal whatever it wants; to a pipe or a file it always does")
		fs.StringVar(&model, "model", "", "the model `NAME`, instead of [model] name")
		fs.StringVar(&state, "state", "", "the agent's own `DIR` (default below $XDG_STATE_HOME/ward)")
	})
	switch {
	case err != nil:
		return nil, err
	case bare == "":
		return nil, env.Usage(usage, "--bare is missing")
	case len(rest) > 0 && (s.Unfenced || detached || once):
		return nil, env.Usage(usage, "a command (%s) runs fenced and in the foreground", rest[0])
	case len(rest) == 0 && s.Raw:
		return nil, env.Usage(usage, "--raw is for a command; what the agent prints is always cleaned")
	}
	s.Once, s.Detach = once, detached
	if s.Command = rest; len(rest) > 0 {
		s.Stdin = env.Stdin
	}
	if err := s.open(ctx, env.Path(bare)); err != nil {
		return nil, err
	}
	if !s.Unfenced {
		if err := shown(ctx, s.Bare); err != nil {
			return nil, err
		}
	}
	if s.Model, err = chooseModel(s, model, env.Stderr); err != nil {
		return nil, err
	}
	if state != "" {
		s.State = env.Path(state)
	} else if s.State, err = defaultState(s.Bare, env.Getenv); err != nil {
		return nil, err
	}
	if s.Agent, err = cli.Program(program); err != nil {
		return nil, err
	}
	if s.Watcher, err = cli.Program(supervisor); err != nil {
		return nil, err
	}
	s.Forwarder, err = cli.Program(forwarder)
	return s, err
}

// open fills in the repository. Its path has no symbolic links, so that one
// repository has one state directory however it is called.
func (s *Spec) open(ctx context.Context, bare string) (err error) {
	if s.Bare, err = filepath.EvalSymlinks(bare); err != nil {
		return diag.Hint(err, "`git ward init --bare DIR` makes a repository")
	}
	if err := door.Check(ctx, s.Bare); err != nil {
		return err
	}
	s.Settings, err = config.Load(s.Bare)
	return err
}

// egressMeans says in one line what the egress mode means (SBX-2).
var egressMeans = map[string]string{
	"public":    "fenced: the public internet is open to the agent, private networks and this host are not; [egress] mode = \"allowlist\" closes it",
	"allowlist": "fenced: no route out; the gateway opens the names of [egress] allow only",
}

// fencedModels are what an agent in the fence can work with.
var fencedModels = []string{"anthropic", "openai", "claude-code", "codex", "opencode", "exec", script}

// chooseModel fails closed: nobody works by accident, and without a fence only
// the script runs (SBX-8).
func chooseModel(s *Spec, flagged string, stderr io.Writer) (string, error) {
	path := filepath.Join(s.Bare, config.Path)
	name := flagged
	if name == "" {
		name = s.Settings.Model.Name
	}
	switch {
	case len(s.Command) > 0:
		return "", nil
	case s.Unfenced && name == "":
		fmt.Fprintf(stderr, "no model is configured ([model] name in %s): the model %q runs\n", path, script)
		return script, nil
	case s.Unfenced && name != script:
		return "", diag.Hint(fmt.Errorf("the model %q needs the fence; unfenced runs the model %q only", name, script),
			"`--model %s` chooses it for this launch", script)
	case name == "":
		return "", diag.Hint(fmt.Errorf("no model is configured: [model] name in %s is empty", path),
			"set it to one of %s, or say --model NAME", strings.Join(fencedModels, ", "))
	case !slices.Contains(fencedModels, name):
		return "", diag.Hint(fmt.Errorf("unknown model %q", name), "[model] name is one of %s", strings.Join(fencedModels, ", "))
	}
	return name, nil
}

// storageVar names a directory for podman's images and containers, in place of
// the user's own: tests keep out of people's way with it.
const storageVar = "WARD_PODMAN_STORAGE"

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
