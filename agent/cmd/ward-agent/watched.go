package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"git-ward/agent/store"
	"git-ward/internal/cli"
	"git-ward/protocols/boot"
)

const rescueUsage = "ward-agent rescue --bare DIR --state DIR --tree DIR [--commits] [--door SOCKET]"

// options parses the arguments for the repository and the state directory.
func options(env *cli.Env, name, usage string, more func(*flag.FlagSet)) (o store.Options, err error) {
	var bare, state, door, file string
	sub := *env
	sub.Args = env.Args[1:]
	err = sub.Only(name, usage, func(fs *flag.FlagSet) {
		fs.StringVar(&bare, "bare", "", "the bare repository, a `DIR`")
		fs.StringVar(&state, "state", "", "the agent's own `DIR`")
		fs.StringVar(&door, "door", "", "push through this `SOCKET`")
		fs.StringVar(&file, "config", "", "the settings, a `FILE` like config.toml; without it, the branches are main")
		more(fs)
	})
	switch {
	case err != nil:
		return o, err
	case bare == "" || state == "":
		return o, env.Usage(usage, "--bare and --state are needed")
	}
	if file != "" {
		c, err := readConfig(env.Path(file))
		if err != nil {
			return o, err
		}
		o.Control = c.Control
	}
	o = store.Options{Control: o.Control, Bare: env.Path(bare), State: env.Path(state), Running: boot.Main}
	if door != "" {
		o.Door = env.Path(door)
	}
	o.Executable, err = os.Executable()
	return o, err
}

// openStore opens the store for one call by the watcher, while no agent uses the state
// directory.
func openStore(ctx context.Context, o store.Options) (*store.Store, func(), error) {
	release, err := store.Lock(ctx, o.State)
	if err != nil {
		return nil, nil, err
	}
	s, err := store.Open(ctx, o)
	if err != nil {
		release()
		return nil, nil, err
	}
	return s, release, nil
}

// rescue pushes a tree's unpushed content, and prints a line for each branch that it pushed
// to.
func rescue(ctx context.Context, env *cli.Env) error {
	var tree string
	var commits bool
	o, err := options(env, "rescue", rescueUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&tree, "tree", "", "the working tree, a `DIR`")
		fs.BoolVar(&commits, "commits", false, "leave out what is not committed")
	})
	if err != nil {
		return err
	}
	if tree == "" {
		return env.Usage(rescueUsage, "--tree is missing")
	}
	s, release, err := openStore(ctx, o)
	if err != nil {
		return err
	}
	defer release()
	// Without a lease's directive it is pushed as the agent's, without a name.
	branches, err := s.Rescue(ctx, env.Path(tree), env.Getenv(boot.LeaseVar), !commits, time.Now())
	for _, b := range branches {
		fmt.Fprintln(env.Stdout, "rescued", b)
	}
	return err
}
