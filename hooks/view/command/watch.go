package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/hooks/view/terminal"
	"git-ward/internal/cli"
	"git-ward/protocols/lease"
)

const watchUsage = "watch [--bare DIR] [--interval TIME] [--plain] [D-n]"

// The limits of the polling interval.
const (
	leastInterval = 500 * time.Millisecond
	mostInterval  = time.Hour
)

// watch is `git ward watch` (SEE-1).
func watch(ctx context.Context, env *cli.Env) error {
	var bare string
	var plain bool
	interval := 2 * time.Second
	args, err := env.Flags("watch", watchUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.DurationVar(&interval, "interval", interval, "the `TIME` between two looks at the refs, such as 5s; a clone fetches each time")
		fs.BoolVar(&plain, "plain", false, "a line for each change, as where the output is no terminal")
	})
	if err != nil {
		return err
	}
	name := ""
	switch {
	case len(args) == 1 && lease.IsDirective(args[0]):
		name = args[0]
	case len(args) > 0:
		return env.Usage(watchUsage, "watch takes one directive, such as D-1, or none for all")
	case interval < leastInterval || interval > mostInterval:
		return env.Usage(watchUsage, "--interval is from %s to %s", leastInterval, mostInterval)
	}
	source, err := open(ctx, env, bare)
	if err != nil {
		return err
	}
	looker := terminal.NewLooker(source, name, interval)
	if !source.Bare() {
		looker.Fetch = func(ctx context.Context) error { return source.Fetch(ctx, env.Dir, os.Environ()) }
	}
	env.Leaves(onlyLooked)
	if err = show(ctx, env, looker, plain); ctx.Err() != nil {
		return err // a signal, which cli.Main handles
	}
	return ended(env, err)
}

// show runs the terminal program if there is a capable terminal, and otherwise prints lines.
func show(ctx context.Context, env *cli.Env, looker *terminal.Looker, plain bool) error {
	in, out := screen(env.Stdin), screen(cli.Raw(env.Stdout))
	if term := env.Getenv("TERM"); plain || in == nil || out == nil || term == "" || term == "dumb" {
		return terminal.Follow(ctx, looker, env.Stdout)
	}
	return terminal.Watch(ctx, looker, in, out, os.Environ(), env.Getenv)
}

// screen returns the stream if it is a terminal, else nil.
func screen(stream any) *os.File {
	f, ok := stream.(*os.File)
	if !ok {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return nil
	}
	return f
}

// onlyLooked is the message after an interrupted watch.
const onlyLooked = "watch only reads, and nothing was changed"

// ended returns the error for a watch that ^C ended. In the terminal program ^C is a key and no signal.
func ended(env *cli.Env, err error) error {
	const interrupted = 128 + int(unix.SIGINT)
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(env.Stderr, "git-ward: interrupted: "+onlyLooked)
		return cli.ExitCode(interrupted)
	}
	return err
}
