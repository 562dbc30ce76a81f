package command

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"

	"github.com/rs/zerolog"

	"git-ward/internal/cli"
	"git-ward/sandbox/relay"
)

const nearUsage = "near --gate URL --key FILE --known-hosts FILE --dir DIR [--mirror DIR] [--verdict] | near --ready --dir DIR"

// agentID is the agent's user in a pod. It may not ask for anything that controls the
// container.
const agentID = 1000

// serveNear is `git ward near`: the gate in an agent's pod or on its machine (MANY-3).
func serveNear(ctx context.Context, env *cli.Env) error {
	c, ready, err := parseNear(env)
	if err != nil {
		return err
	}
	if ready {
		if err := relay.IsReady(ctx, c.Dir); err != nil {
			return fmt.Errorf("near is not ready: %w", err)
		}
		return nil
	}
	c.Log = zerolog.New(env.Stderr).With().Timestamp().Logger()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	life := &relay.Life{Dir: c.Dir, Agent: agentID, Log: c.Log}
	broken := make(chan error, 1)
	c.Ready = func() {
		c.Log.Info().Msg("ready")
		go func() {
			broken <- life.Serve(ctx)
			cancel()
		}()
	}
	if err := relay.Run(ctx, c); err != nil {
		return refusedBy[*relay.Refused](env, err)
	}
	select {
	case err := <-broken:
		return err
	default:
		return nil
	}
}

func parseNear(env *cli.Env) (c relay.Config, ready bool, err error) {
	err = env.Only("near", nearUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&c.Gate, "gate", "", "the repository's host, a `URL`: ssh://USER@HOST:PORT/PATH")
		fs.StringVar(&c.Key, "key", "", "the private key, a `FILE` that not everybody can read")
		fs.StringVar(&c.KnownHosts, "known-hosts", "", "the gate's host key, a `FILE` in the format of sshd(8); no other is accepted")
		fs.StringVar(&c.Dir, "dir", "", "where the sockets are made, a `DIR`")
		fs.StringVar(&c.Mirror, "mirror", "", "where the mirror is kept, a `DIR`; without it DIR/mirror")
		fs.BoolVar(&c.Verdict, "verdict", false, "serve a verifier: the result's socket in place of the door's and the gateway's")
		fs.BoolVar(&ready, "ready", false, "say by the exit code whether the near process of DIR is ready")
	})
	switch {
	case err != nil:
		return c, ready, err
	case c.Dir == "":
		return c, ready, env.Usage(nearUsage, "--dir is missing")
	}
	c.Dir = env.Path(c.Dir)
	if ready {
		return c, ready, nil
	}
	for name, value := range map[string]*string{"gate": &c.Gate, "key": &c.Key, "known-hosts": &c.KnownHosts} {
		if *value == "" {
			return c, ready, env.Usage(nearUsage, "--%s is missing", name)
		}
		if name != "gate" {
			*value = env.Path(*value)
		}
	}
	if c.Mirror == "" {
		c.Mirror = filepath.Join(c.Dir, "mirror")
	}
	c.Mirror = env.Path(c.Mirror)
	return c, ready, nil
}
