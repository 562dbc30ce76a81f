// Package launch is the one process of a launch: from a Spec to workers in fenced containers,
// with their services on the host's side, the git door, the gateway and the judge of claims,
// until all of it is taken down again. Unfenced, as a plain process of its user, an agent
// runs only when that is asked for (SBX-8).
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/git"
	"git-ward/internal/lines"
	"git-ward/internal/runstate"
	"git-ward/internal/scratch"
	"git-ward/sandbox/door"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/gateway"
	"git-ward/sandbox/host"
	"git-ward/sandbox/lease"
	"git-ward/sandbox/verifier/local"
)

// Spec is the complete configuration of one launch. Paths are absolute.
type Spec struct {
	Bare     string         // the repository; FindRepository has passed
	Settings *config.Config // the repository's own
	Payload  Payload        // what runs
	Programs Programs       // Ward's own
	State    string         // the agent's directory; made when missing
	OwnState bool           // State is where Ward has it by itself: one that an earlier Ward made has no mark
	Podman   fence.Podman   // where containers are made; not used when Unfenced
	Unfenced bool           // plain processes with the user's rights (SBX-8)
	Kube     *Kube          // what runs are Jobs of Kubernetes; nil: not
	Getenv   func(string) string
	Messages io.Writer                  // the launcher's own warnings and errors, for people
	Announce func()                     // called once nothing speaks against the launch; nil: nobody
	Redact   func() func(string) string // makes what takes secrets out of an agent's words, for one caller; nil takes none
}

// Payload is what runs: the watcher with its agent or, fenced only, a command in
// their place.
type Payload struct {
	Model string // who works; "" with a Command
	Once  bool   // end when no directive is open
	// Directive is the only one to work on, "" for any; with Once.
	Directive string
	Logged    bool     // Stdout and Stderr are a log, of which each worker has a share
	Reset     bool     // let the watcher forget first what it knows beyond refs
	Command   []string // empty: the watcher and the agent
	Stdin     io.Reader
	// Stdout and Stderr get a command's output byte for byte, and an agent's cleaned.
	Stdout, Stderr io.Writer
}

// Script is the only model that may run without a fence (SBX-8), because it does only what its
// lines say.
const Script = "script"

// Only is the one model that may run in this launch's place for agents, "" for any.
func (s *Spec) Only() string { return newLaunch(*s).engine.only() }

// CheckModel refuses models that may not run there.
func (s *Spec) CheckModel(model string) error {
	if only := s.Only(); only != "" && model != only {
		return fmt.Errorf("the model %q needs the fence; unfenced runs the model %q only", model, only)
	}
	return nil
}

// Means returns the lines that tell people what contains the agent.
func (s *Spec) Means() []string { return newLaunch(*s).engine.means() }

// Verifier returns the verifier that this launch would use, without a launch.
func (s *Spec) Verifier(ctx context.Context) (_ local.Runner, err error) {
	l := newLaunch(*s)
	if l.policy, err = l.engine.findPolicy(ctx); err != nil {
		return nil, err
	}
	return l.engine.runner(), nil
}

// Programs are Ward's binaries on the host. In the fence all of them come from the
// agent's directory.
type Programs struct {
	Agent     string
	Watcher   string // starts the agent
	Forwarder string // runs in front of both, and leads to the gateway
	Ward      string // git-ward, whose maintenance of the repository runs beside; on the host, always
}

// launch is one launch as it runs: what was asked for, and what was found or made
// for it. Each fact is held here once.
type launch struct {
	spec    Spec
	log     zerolog.Logger  // the launcher's own; a service has logOf
	file    io.Writer       // where both go
	lock    *os.File        // the launch lock
	gate    *os.File        // the repository's directory that it is in
	scratch *scratch.Dir    // the launch's own directory, for sockets
	tag     string          // NAME=value, in the environment of all unfenced processes
	until   time.Time       // when [budget] time is spent
	policy  firewall.Policy // SBX-2 for this machine
	lives   *lives          // what is told of the work as it goes on; nil with a command
	stdout  io.Writer       // of all workers, for who may stop reading
	stderr  io.Writer
	shares  sync.Map // of the outputs, by place: a place's next worker has what the one before left
	newest  sync.Map // the number of the newest unit that was seen, by directive
	owns    owns
	meter   *gateway.Meter
	shared  *gateway.Shared
	book    *lease.Book    // nil with a command, of which nobody else is to know
	name    string         // of the launcher, which begins its workers' names
	host    *host.Host     // has directives worked on; nil with a command
	asking  sync.WaitGroup // other machines' requests

	troubles troubles
	engine   engine
}

// ownScratch gives a launch a directory of its own, in which it makes containers and sockets.
func (l *launch) ownScratch(dir *scratch.Dir) {
	l.scratch = dir
	l.spec.Podman.Scratch, l.spec.Podman.Own = dir.Path, dir
}

// agents is how many workers there may be at once.
func (s *Spec) agents() int {
	if len(s.Payload.Command) > 0 || s.Payload.Directive != "" {
		return 1
	}
	return max(s.Settings.Launch.Agents, 1)
}

// workerState is the directory of a worker's agent, from 1.
func (s *Spec) workerState(number int) string {
	if number == 1 {
		return s.State
	}
	return filepath.Join(s.State, fmt.Sprintf("w%d", number))
}

// disk is the file, below a worker's state directory, that /bot is in the fence. A user's command
// has another than the agent: what an agent left would run in the command, and what a command
// leaves is not the next directive's to read or to remove.
func (s *Spec) disk(state string) string {
	if len(s.Payload.Command) > 0 {
		return filepath.Join(state, "command.img")
	}
	return filepath.Join(state, "bot.img")
}

// Run runs the payload until it ends by itself or ctx is cancelled; what is left
// of it is then killed, and the services are closed. A payload that ended with a
// code of its own is a fence.Exit.
//
// One launcher works on a repository at a time; a second one is refused.
func Run(ctx context.Context, s Spec) (err error) {
	defer func() { err = s.without(err) }()
	gate, err := lockGate(s.Bare)
	if err != nil {
		return err
	}
	defer gate.Close()
	lock, err := acquire(s.Bare)
	if err != nil {
		return err
	}
	defer lock.Close()
	tag, err := tagOf(gate, s.Bare)
	if err != nil {
		return err
	}
	left := endLeft(tag)
	defer endLeft(tag)
	dir, err := makeScratch(lock, s.Podman.Scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeScratch(lock, dir)) }()
	l := newLaunch(s)
	l.lock, l.gate, l.tag = lock, gate, tag
	l.ownScratch(dir)
	bounded, leave := l.engine.bound()
	defer leave()
	if err := s.Check(ctx); err != nil {
		return err
	}
	if s.Announce != nil {
		s.Announce()
	}
	state, path, err := claim(s.State, s.OwnState)
	if err != nil {
		return err
	}
	defer state.Close()
	l.spec.State = path
	if err := prepareState(path, s.Bare); err != nil {
		return err
	}
	file, err := door.OpenLog(s.Bare)
	if err != nil {
		return err
	}
	defer file.Close()
	l.openLog(file, s.Messages)
	if left > 0 {
		l.log.Warn().Int("processes", left).Msg("ended what an unfenced launch that was killed left running")
	}
	l.log.Info().Str("bounded", bounded).Msg("launched")
	end, err := l.engine.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if len(s.Payload.Command) == 0 {
		defer l.listen(ctx)()
		if err := l.openBook(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := l.startClock(ctx)
	defer cancel()
	if l.book != nil {
		l.openHost()
	}
	defer l.keepUp(ctx)()
	return l.serve(ctx)
}

// listen begins to write down what is told of the work as it goes on (SEE-1). Whoever has the
// terminal may stop it: no agent waits for that. What it returns ends both.
func (l *launch) listen(ctx context.Context) (end func()) {
	p := &l.spec.Payload
	stdout, stderr := lines.NewQueue(p.Stdout, maxUnread), lines.NewQueue(p.Stderr, maxUnread)
	l.stdout, l.stderr = stdout, stderr
	l.lives = l.newLives()
	telling, enough := context.WithCancel(context.WithoutCancel(ctx))
	go l.lives.run(telling)
	return func() {
		enough()
		<-l.lives.ended
		stdout.Close(unreadPatience)
		stderr.Close(unreadPatience)
	}
}

// openBook is the launch's part in the leases of directives: those of its workers that a
// killed launcher left are free again.
func (l *launch) openBook(ctx context.Context) (err error) {
	var former string
	if l.name, former, err = lease.LauncherName(l.spec.Bare); err != nil {
		return err
	}
	l.book = &lease.Book{Repo: git.Open(l.spec.Bare), Settings: l.spec.Settings, Launcher: l.name, Former: former}
	runstate.ForgetWorkers(l.spec.Bare)
	goesOn, err := l.book.Reclaim(ctx)
	if err != nil {
		return err
	}
	if err := l.keys().Keep(func(string) bool { return false }); err != nil { // those of other machines' workers, who ask anew
		return err
	}
	return l.engine.sweep(ctx, goesOn)
}

const (
	// maxUnread is how much of an agent's output waits for who reads it, in bytes, and
	// unreadPatience how long the end of a launch waits for him.
	maxUnread      = 1 << 20
	unreadPatience = 2 * time.Second
)
