package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/sandbox/doctor"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/judge"
	"git-ward/sandbox/launch"
)

const launchUsage = "launch [--bare DIR] [--once] [--directive D-n] [--detach] [--agents N] [--reset] [--model NAME] [--state DIR] [--unfenced] [--raw] [--profile DIR] [--engine NAME [--namespace NAME] [--gate-address ADDRESS] [--print [--podman]]] [-- CMD ...] | launch --gate URL --key FILE --known-hosts FILE [--agents N] [--once] [--state DIR] [--unfenced]"

// launching is launch with a filter that removes secrets from a text.
func launching(redact func() func(string) string) cli.Func {
	return func(ctx context.Context, env *cli.Env) error { return runLaunch(ctx, env, redact) }
}

// runLaunch is `git ward launch` without its verbs, logs and stop.
func runLaunch(ctx context.Context, env *cli.Env, redact func() func(string) string) error {
	if !signal.Ignored(syscall.SIGHUP) { // a closed terminal stops it gracefully
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	o, err := parseLaunch(env)
	if err != nil {
		return err
	}
	if o.away.gate != "" {
		return o.launchAway(ctx, env)
	}
	if o.bare, err = hosted(ctx, env, o.bare); err != nil {
		return err
	}
	if o.background {
		log, err := logToFile(env, o.bare)
		if err != nil {
			return err
		}
		defer log.Close()
	}
	spec, err := o.spec(ctx, env)
	if err != nil {
		return err
	}
	if o.kube.print {
		return o.kube.printed(ctx, env, &spec, "")
	}
	if err := o.kube.complete(&spec); err != nil {
		return err
	}
	if o.detach {
		if err := spec.Check(ctx); err != nil {
			return err
		}
		return detach(ctx, env, spec.Bare)
	}
	if spec.Redact = redact; o.profile != "" {
		spec.Profile = env.Path(o.profile)
	}
	spec.Announce = func() {
		for _, line := range spec.Means() {
			fmt.Fprintln(env.Stderr, line)
		}
		if len(spec.Payload.Command) == 0 {
			warnOfOldHooks(ctx, env.Stderr, spec.Bare)
		}
	}
	ctx, kept := git.Keep(ctx)
	defer kept()
	err = launch.Run(ctx, spec)
	if exit, ok := errors.AsType[fence.Exit](err); ok {
		return cli.ExitCode(exit)
	}
	return err
}

// launchOptions are the arguments of `git ward launch`.
type launchOptions struct {
	bare, state, model, profile string
	directive                   string
	once, detach, unfenced, raw bool
	background                  bool // started by detach
	reset                       bool
	agents                      int // 0: from the settings
	command                     []string
	kube                        kubeOptions
	away                        awayOptions
}

// parseLaunch parses the arguments and reports errors in them.
func parseLaunch(env *cli.Env) (o launchOptions, err error) {
	o.command, err = env.Flags("launch", launchUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &o.bare)
		fs.BoolVar(&o.unfenced, "unfenced", false, "run the agent as you, without any confinement")
		fs.BoolVar(&o.once, "once", false, "end when no directive is open")
		fs.StringVar(&o.directive, "directive", "", "work on the directive `D-n` only, and end")
		fs.BoolVar(&o.detach, "detach", false, "go on in the background")
		fs.BoolVar(&o.background, backgroundFlag, false, "") // detach says it
		fs.IntVar(&o.agents, "agents", 0, "`N` agents at once, each on a directive of its own, instead of [launch] agents")
		fs.BoolVar(&o.reset, "reset", false, "let the watcher forget first: pins, signals, incidents that were told, what was built")
		fs.BoolVar(&o.raw, "raw", false, "let a command write to the terminal whatever it wants; to a pipe or a file it always does")
		fs.StringVar(&o.profile, "profile", "", "leave in `DIR` at the end where the launcher spent its time, for go tool pprof, and a picture of each directive's way")
		fs.StringVar(&o.model, "model", "", "the model `NAME`, instead of [model] name")
		o.kube.flags(fs)
		o.away.flags(fs)
		fs.StringVar(&o.state, "state", "", "the agent's own `DIR` (default below $XDG_STATE_HOME/ward)")
	})
	switch {
	case err != nil:
		return o, err
	case o.directive != "" && !lease.IsDirective(o.directive):
		return o, env.Usage(launchUsage, "--directive %q is no directive, such as D-3", o.directive)
	case o.directive != "" && (len(o.command) > 0 || o.agents > 1):
		return o, env.Usage(launchUsage, "--directive is for one agent")
	case len(o.command) > 0 && (o.unfenced || o.detach || o.once):
		return o, env.Usage(launchUsage, "a command (%s) runs fenced and in the foreground", o.command[0])
	case len(o.command) > 0 && o.reset:
		return o, env.Usage(launchUsage, "--reset is for the watcher, and a command (%s) runs without one", o.command[0])
	case len(o.command) > 0 && o.agents != 0:
		return o, env.Usage(launchUsage, "--agents is for agents, and a command (%s) runs alone", o.command[0])
	case len(o.command) == 0 && o.raw:
		return o, env.Usage(launchUsage, "--raw is for a command; what the agent prints is always cleaned")
	}
	if err := o.away.check(env, &o); err != nil {
		return o, err
	}
	return o, o.kube.check(env, &o)
}

// spec is the launch that the options ask for.
func (o *launchOptions) spec(ctx context.Context, env *cli.Env) (s launch.Spec, err error) {
	s = launch.Spec{Unfenced: o.unfenced, Podman: podmanOf(env), Getenv: env.Getenv, Messages: env.Stderr}
	if s.Bare, s.Settings, err = launch.FindRepository(ctx, env.Path(o.bare)); err != nil {
		return s, err
	}
	if o.agents != 0 {
		if s.Settings.Launch.Agents = o.agents; o.agents < 1 || o.agents > config.MaxAgents {
			return s, env.Usage(launchUsage, "--agents is %d, and may be 1 to %d", o.agents, config.MaxAgents)
		}
	}
	if len(o.command) == 0 { // a command needs no directive
		if _, err := judge.ReadHeads(ctx, git.Open(s.Bare), s.Settings.Control); err != nil {
			return s, err
		}
	}
	if s.Payload, err = o.payload(env, &s); err != nil {
		return s, err
	}
	s.OwnState = o.state == ""
	if !s.OwnState {
		s.State = env.Path(o.state)
	} else if s.State, err = launch.DefaultState(s.Bare, env.Getenv); err != nil {
		return s, err
	}
	s.Programs, err = programs()
	return s, err
}

// payload is the command, or the agent with the chosen model. In a pipe or a file a command's
// output arrives byte for byte; on a terminal it is cleaned unless its owner asks for all of
// it (GATE-7).
func (o *launchOptions) payload(env *cli.Env, s *launch.Spec) (p launch.Payload, err error) {
	if len(o.command) == 0 {
		p = launch.Payload{Once: o.once || o.directive != "", Directive: o.directive, Reset: o.reset, Logged: o.background, Stdout: env.Stdout, Stderr: env.Stderr}
		p.Model, err = chooseModel(s, o.model, env.Stderr)
		return p, err
	}
	clean := cli.Bytes
	if o.raw {
		clean = cli.Raw
	}
	return launch.Payload{Command: o.command, Stdin: env.Stdin, Stdout: clean(env.Stdout), Stderr: clean(env.Stderr)}, nil
}

// programs finds Ward's binaries.
func programs() (p launch.Programs, err error) {
	if p.Agent, err = cli.Program(fence.AgentProgram); err != nil {
		return p, err
	}
	if p.Watcher, err = cli.Program(fence.WatcherProgram); err != nil {
		return p, err
	}
	if p.Forwarder, err = cli.Program(fence.ForwarderProgram); err != nil {
		return p, err
	}
	p.Ward, err = cli.Program(fence.WardProgram)
	return p, err
}

// warnOfOldHooks warns that a repository's hooks are of another version of Ward than this
// launcher. They may refuse what newer workers push, and that work then waits.
func warnOfOldHooks(ctx context.Context, w io.Writer, bare string) {
	hook, err := cli.Program("ward-hook")
	if err != nil {
		return // doctor reports it; nothing here needs it
	}
	for _, f := range doctor.Version(ctx, bare, hook) {
		if f.State == doctor.Warning {
			fmt.Fprintf(w, "warning: %s; %s\n", diag.Clean(f.Detail), f.Mend)
		}
	}
}

// chooseModel fails closed: no model is chosen by accident, and without a fence only the
// script runs (SBX-8).
func chooseModel(s *launch.Spec, flagged string, stderr io.Writer) (string, error) {
	path := filepath.Join(s.Bare, config.Path)
	name := flagged
	if name == "" {
		name = s.Settings.Model.Name
	}
	only := s.Only()
	switch {
	case only != "" && name == "":
		fmt.Fprintf(stderr, "no model is configured ([model] name in %s): the model %q runs\n", path, only)
		return only, nil
	case name == "":
		return "", diag.Hint(fmt.Errorf("no model is configured: [model] name in %s is empty", path),
			"set it to one of %s, or say --model NAME", config.WorkerNames())
	}
	if err := s.CheckModel(name); err != nil {
		return "", diag.Hint(err, "`--model %s` chooses it for this launch", only)
	}
	if _, known := config.FindWorker(name); !known {
		return "", diag.Hint(fmt.Errorf("unknown model %q", name), "[model] name is one of %s", config.WorkerNames())
	}
	return name, nil
}

// podmanOf is where a command makes containers.
func podmanOf(env *cli.Env) fence.Podman {
	inside, _ := cli.Program(fence.ForwarderProgram) // the code that makes a container reports that it is missing
	return fence.Podman{Storage: env.Getenv(storageVar), Inside: inside, Scratch: runtimeDir(env.Getenv)}
}

// storageVar names a directory for podman's images and containers instead of the user's own,
// so that tests do not touch the user's.
const storageVar = "WARD_PODMAN_STORAGE"

// runtimeDir is the directory for sockets: the session's runtime directory, or "" for the
// temporary directory.
func runtimeDir(getenv func(string) string) string {
	dir := getenv("XDG_RUNTIME_DIR")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return ""
	}
	return dir
}
