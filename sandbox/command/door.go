package command

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/internal/token"
	"git-ward/protocols/lease"
	"git-ward/sandbox/door"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/launch"
)

const doorUsage = "door --stdio --bare DIR (--agent NAME | --pm NAME | --member NAME | --lease NAME | --verdict SOCKET | --hand NAME)"

// serveDoor is `git ward door --stdio`, a forced command of sshd(8) (ID-4).
func serveDoor(ctx context.Context, env *cli.Env) error {
	s, err := parseDoor(env)
	if err != nil {
		return err
	}
	s.Ended = func(ctx context.Context, e door.Ended) error {
		ward, err := cli.Program(fence.WardProgram)
		if err == nil {
			_, err = launch.RunWard(ctx, ward, s.Bare, "maintain", "--ended", e.String(), s.Bare)
		}
		return err
	}
	code, err := s.Serve(ctx)
	if code != 0 {
		return cli.ExitCode(code)
	}
	return refusedBy[*door.Lost](env, err)
}

// refusedBy prints a final error and makes it exit 1, which tells the client not to try again.
// All other trouble is exit 2.
func refusedBy[T error](env *cli.Env, err error) error {
	if _, last := errors.AsType[T](err); !last {
		return err
	}
	fmt.Fprintf(env.Stderr, "git-ward: refused: %s\n", diag.Clean(err.Error()))
	for _, hint := range diag.Hints(err) {
		fmt.Fprintf(env.Stderr, "  hint: %s\n", hint)
	}
	return cli.ErrFindings
}

// The flags that say what a key is for, instead of who holds it.
const (
	leaseFlag = "lease"
	handFlag  = "hand"
)

// parseDoor makes a session from the arguments, which come from the host, and the variables
// that sshd sets, which come from the client.
func parseDoor(env *cli.Env) (*door.Session, error) {
	s := &door.Session{Command: env.Getenv("SSH_ORIGINAL_COMMAND"), Protocol: env.Getenv("GIT_PROTOCOL"), Stderr: env.Stderr}
	var bare, verdict string
	var stdio bool
	names := map[string]*string{}
	rest, err := env.Flags("door", doorUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&stdio, "stdio", false, "serve one connection on standard input and output, as a forced command of ssh")
		fs.StringVar(&bare, "bare", "", "the bare repository, a `DIR`")
		for _, p := range []string{"agent", "pm", "member"} {
			names[p] = fs.String(p, "", "who has the key: `NAME`, as "+p)
		}
		names[leaseFlag] = fs.String(leaseFlag, "", "the lease that the key is for: `NAME`, such as D-3.0123456789abcdef; a launcher writes it")
		names[handFlag] = fs.String(handFlag, "", "the launcher on another machine that the key is for: `NAME`; it gets work from the launcher here (launch --gate)")
		fs.StringVar(&verdict, "verdict", "", "where the result of the verification that the key is for goes, a `SOCKET` of the launcher's")
	})
	if err != nil {
		return nil, err
	}
	for principal, name := range names {
		if *name == "" {
			continue
		}
		if s.Principal != "" {
			return nil, env.Usage(doorUsage, "one of --agent, --pm, --member, --lease and --hand")
		}
		switch s.Principal, s.Name = principal, *name; principal {
		case leaseFlag:
			s.Lease = *name
		case handFlag:
			s.Hand = *name
		}
	}
	s.Bare, s.Verdict, s.Gateway = env.Path(bare), verdict, func(lease string) string { return gatewayOf(env.Path(bare), lease) }
	s.Work = func(ctx context.Context, holder string, once bool) (door.Conn, error) {
		return launch.AskWork(ctx, env.Path(bare), holder, once)
	}
	switch {
	case !stdio || len(rest) > 0:
		return nil, env.Usage(doorUsage, "door takes --stdio and no other words")
	case bare == "":
		return nil, env.Usage(doorUsage, "--bare is missing")
	case verdict != "" && s.Principal == "":
		s.Principal, s.Name = door.Agent, verdictName
	case verdict != "":
		return nil, env.Usage(doorUsage, "--verdict stands alone")
	case s.Principal == "":
		return nil, env.Usage(doorUsage, "who has the key is missing: --agent, --pm, --member, --lease or --hand with a name, or --verdict")
	}
	if err := token.CheckName(s.Name); err != nil {
		return nil, env.Usage(doorUsage, "--%s: %v", s.Principal, err)
	}
	return s, nil
}

// verdictName is the name that verifiers' keys share in the queue. It pushes nothing.
const verdictName = "verifier"

// gatewayOf is the socket of a lease holder's gateway, as the running launcher reports it.
func gatewayOf(bare, name string) string {
	directive, id, _ := lease.ParseName(name)
	for _, w := range runstate.Workers(bare) {
		if w.Directive == directive && w.Lease == id {
			return w.Gateway
		}
	}
	return ""
}
