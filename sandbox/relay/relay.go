// Package relay gives an agent on another machine access to the gate's repository (MANY-3): the
// door's socket, the gateway's, and a mirror to read, each through an ssh session with the
// gate's host. Only near holds the key; the agent runs as another user and reaches only the
// sockets.
//
// Each session runs the gate's forced command (package door), so the gate decides what near may do. What the
// agent may do depends only on the socket to which it connects: near passes bytes on without parsing them.
package relay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/rs/zerolog"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/scratch"
)

// Config is the complete configuration of a near. Paths are absolute.
type Config struct {
	Gate       string // ssh://[USER@]HOST[:PORT][/PATH]; the path is decided by the key's line at the gate
	Key        string // file of the private key
	KnownHosts string // file with the gate's only accepted host key (sshd(8))
	Dir        string // for the sockets Dir/door/sock, Dir/gateway/sock or Dir/result/sock
	Mirror     string // the mirror's directory, made if missing; refused if it has foreign files
	Own        bool   // Ward chose the mirror's path: its content is Ward's even without a mark
	Verdict    bool   // for a verifier: the result's socket instead of the door's and the gateway's
	Log        zerolog.Logger
	Ready      func() // called when the mirror is complete and the sockets serve; may be nil
}

// The gate's services other than git's, as ssh commands (package door).
const (
	gatewayCommand = "ward gateway"
	watchCommand   = "ward watch"
	resultCommand  = "ward result"
	// Git's commands take a path, which is ignored there.
	pushCommand  = "git-receive-pack '/'"
	fetchCommand = "git-upload-pack '/'"
)

// server is a running Near.
type server struct {
	config Config
	gate   *gate
	mirror *mirror
	ready  sync.Once
}

// Run serves until ctx ends, which is no error. It returns a *Refused if the gate no longer
// knows the key or the lease has ended. While the network is down, it keeps trying.
func Run(ctx context.Context, c Config) (err error) {
	g, err := newGate(c)
	if err != nil {
		return err
	}
	defer g.close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := &server{config: c, gate: g}
	if n.mirror, err = newMirror(ctx, c, g); err != nil {
		return err
	}
	defer n.mirror.claim.Close()
	var serving sync.WaitGroup
	defer serving.Wait()
	sockets, err := n.sockets()
	if err != nil {
		return err
	}
	defer cancel(nil) // before waiting for the servers
	for _, s := range sockets {
		defer s.listener.Close()
	}
	serving.Go(func() { n.mirror.keepUp(ctx) })
	err = n.follow(ctx, func() {
		n.ready.Do(func() {
			for _, s := range sockets {
				serving.Go(func() { s.serve(ctx) })
			}
			if c.Ready != nil {
				c.Ready()
			}
		})
	})
	cancel(err)
	return err
}

// follow keeps the gate's stream of moved refs open and the mirror up to date, until ctx ends
// or the gate refuses.
func (n *server) follow(ctx context.Context, whole func()) error {
	for tries := 0; ; tries++ {
		err := n.watch(ctx, func() { tries = 0; whole() })
		var refused *Refused
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &refused):
			return err
		}
		n.config.Log.Warn().Err(err).Msg("the gate is unreachable")
		if pause(ctx, tries) != nil {
			return nil
		}
	}
}

// sockets makes the directories and their sockets, which are not served yet.
func (n *server) sockets() (all []*socket, err error) {
	services := []*socket{
		{name: "door", command: pushCommand, atOnce: pushesAtOnce, after: n.mirror.fetch, excuse: gitExcuse},
		{name: "gateway", command: gatewayCommand, atOnce: callsAtOnce, excuse: httpExcuse},
	}
	if n.config.Verdict {
		services = []*socket{{name: "result", command: resultCommand, atOnce: 1}}
	}
	for _, s := range services {
		s.gate, s.log = n.gate, n.config.Log.With().Str("socket", s.name).Logger()
		if s.listener, err = listen(filepath.Join(n.config.Dir, s.name)); err != nil {
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

// newMirror makes the mirror, or takes over an earlier near's. A fetch deletes what the gate
// does not have, so the directory may hold nothing else.
func newMirror(ctx context.Context, c Config, g *gate) (*mirror, error) {
	if err := os.MkdirAll(c.Mirror, 0o755); err != nil {
		return nil, err
	}
	claim, err := scratch.Claim(c.Mirror, c.Own)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("the mirror: %w", err), "name an empty directory, or one that is not there: git ward near --mirror DIR")
	}
	m := &mirror{repo: git.Open(c.Mirror), claim: claim, gate: g, log: c.Log, moved: make(chan struct{}, 1)}
	// Without a template the mirror gets no files of this machine, and no hooks.
	args := []string{"init", "--quiet", "--bare", "--template=", "--initial-branch=main"}
	if c.Verdict { // the commands run as another user without a group, and cannot read the mirror and the claim in it (PROOF-6)
		args = append(args, "--shared=0640")
	}
	_, err = m.repo.Output(ctx, append(args, c.Mirror)...)
	if err == nil {
		_, err = m.repo.UnlockAll(ctx) // removes locks of a near that was killed during a fetch
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the mirror: %w", err), claim.Close())
	}
	m.dropUnfinished()
	return m, nil
}
