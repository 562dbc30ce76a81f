// Package command is the room's verbs for the host admin, one file a noun: it reads
// the command line, calls the libraries beside it, and writes what they found.
package command

import (
	"context"
	"errors"
	"flag"
	"path/filepath"
	"runtime/debug"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/podman"
)

// Main is the program git-ward-launch: its first argument is the verb, and the table
// in main.go leads there. Redact takes secrets out of a text, for one caller at a time.
func Main(redact func() func(string) string) cli.Func {
	return func(ctx context.Context, env *cli.Env) error { return run(ctx, env, redact) }
}

func run(ctx context.Context, env *cli.Env, redact func() func(string) string) error {
	if env.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // most launches end before a collection would pay
	}
	return cli.Part(commands(redact)...)(ctx, env)
}

// commands are the program's commands; the table in main.go has a line on each.
func commands(redact func() func(string) string) []cli.Command {
	return []cli.Command{
		{Name: "launch", Run: launching(redact),
			Long: "The agent runs in a fenced container. It works on open directives until it is stopped. After any interruption the next launch continues where it was.",
			Examples: []cli.Example{{Line: `launch --bare /srv/git/project.git`, Doc: "here, until ^C"}, {Line: `launch --detach --bare /srv/git/project.git`, Doc: "in the background"}, {Line: `launch --once --bare /srv/git/project.git`, Doc: "until no directive is open"},
				{Line: `launch --logs -f --bare /srv/git/project.git`, Doc: "follow the log of a background launch"},
				{Line: `launch --stop --bare /srv/git/project.git`, Doc: "what the agent has said stays on the record"}},
			Ways: []cli.Way{{Switch: "logs", Doc: "print the log of a background launch", Run: logs}, {Switch: "stop", Doc: "end the launch on a repository", Run: stop}}},
		{Name: "verify", Run: verify,
			Long:     "The same container that judges a claim runs the criteria on any commit, and nothing is written: no verdict, no note.",
			Examples: []cli.Example{{Line: `verify --bare /srv/git/project.git agent/D-1 D-1`, Doc: "the criteria of D-1"}, {Line: `verify --bare /srv/git/project.git main --run "make test"`, Doc: "a command of your own"}}},
		{Name: "door", Run: serveDoor,
			Examples: []cli.Example{{Line: `door --stdio --bare /srv/git/project.git --pm pat`, Doc: "as the forced command of a key in authorized_keys"}}},
		{Name: "near", Run: serveNear,
			Long:     "For an agent on another machine: it serves the door's socket, the gateway's, and a mirror of the repository, over ssh to the gate, with a key that the agent cannot see. It retries while the network is down. Exit 1: the gate refuses, and retrying is useless; 2: other trouble.",
			Examples: []cli.Example{{Line: `near --gate ssh://git@gate.example.org:2222/srv/git/project.git --key /ward/secret/key --known-hosts /ward/secret/known_hosts --dir /ward/near`, Doc: "as a pod's sidecar"}}},
		{Name: "image", Verbs: []cli.Command{{Name: "build", Doc: "build the container image, once", Run: buildImage,
			Examples: []cli.Example{{Line: `image build`, Doc: "of Debian's packages, where it is not there yet"}, {Line: `image build --with make,nodejs,npm`, Doc: "with what the project's commands need"}, {Line: `image build --pod`, Doc: "for Kubernetes: nothing of the node's is needed"}}}}},
		{Name: "probe", Run: tryFence, Ways: []cli.Way{{Switch: "rules", Doc: "print the rules of a launch on this machine, as nft text", Run: showFirewall}},
			Examples: []cli.Example{{Line: `probe --bare /srv/git/project.git`, Doc: "with this repository's settings"}, {Line: `probe --rules --bare /srv/git/project.git`, Doc: "the rules that they make"}}},
		{Name: "fence", Run: fencePod,
			Long:     "Install a pod's firewall rules in its network namespace and read them back. The pod's first init container runs this with NET_ADMIN, which no later container has. Only one user reaches the gate; nobody reaches the node, its kubelet, the API server or the cloud's metadata.",
			Examples: []cli.Example{{Line: `fence --policy '{"mode": "allowlist", "gates": ["203.0.113.7:22"], "gate_user": 1002}' --note /ward/net/note`, Doc: "as the YAML of launch --engine kube has it"}}},
		{Name: "doctor", Run: examine,
			Examples: []cli.Example{{Line: `doctor`, Doc: "of this machine"}, {Line: `doctor --bare /srv/git/project.git`, Doc: "of a repository, too"}}},
		{Name: fence.FirewallChild, Hidden: true, Run: func(ctx context.Context, env *cli.Env) error {
			return firewall.Child(ctx, env.Stdin, cli.Raw(env.Stdout))
		}},
		{Name: "verify-in-pod", Hidden: true, Run: verifyInPod},
		{Name: podman.ReaperVerb, Hidden: true, Run: func(_ context.Context, env *cli.Env) error {
			return podman.Reap(env.Stdin, cli.Raw(env.Stdout))
		}},
	}
}

// bareFlag parses the arguments of a command that takes --bare and perhaps more flags.
func bareFlag(ctx context.Context, env *cli.Env, name, usage string, more func(*flag.FlagSet)) (string, error) {
	var bare string
	err := env.Only(name, usage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		if more != nil {
			more(fs)
		}
	})
	if err != nil {
		return "", err
	}
	return findBare(ctx, env, bare)
}

// findBare is the bare repository that --bare names, or the one around the working directory,
// with symbolic links resolved.
func findBare(ctx context.Context, env *cli.Env, bare string) (string, error) {
	bare, err := hosted(ctx, env, bare)
	if err != nil {
		return "", err
	}
	path, err := filepath.EvalSymlinks(env.Path(bare))
	if err != nil {
		return "", diag.Hint(err, "`git ward init --bare DIR` makes a repository")
	}
	return path, nil
}

// hosted is the bare repository that --bare names, or the one around the working directory. A
// clone is refused, because what runs is on the host.
func hosted(ctx context.Context, env *cli.Env, bare string) (string, error) {
	if bare != "" {
		return bare, nil
	}
	repo, err := env.Repository(ctx, "")
	if err != nil {
		return "", err
	}
	is, err := repo.Bare(ctx)
	if err == nil && !is {
		err = diag.Hint(errors.New("this is a clone; launches run on the host of its repository"), "there: --bare DIR names it")
	}
	return repo.Dir, err
}

// foundIf is the result of a command that has already printed its findings.
func foundIf(trouble bool) error {
	if trouble {
		return cli.ErrFindings
	}
	return nil
}
