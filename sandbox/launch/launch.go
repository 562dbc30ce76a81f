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
	"git-ward/sandbox/fold"
	"git-ward/sandbox/gateway"
	"git-ward/sandbox/host"
	"git-ward/sandbox/lease"
	"git-ward/sandbox/verifier/local"
)

// Spec is the complete configuration of one launch. Paths are absolute.
type Spec struct {
	Bare     string         // the repository; FindRepository has accepted it
	Settings *config.Config // the repository's own
	Payload  Payload        // what runs
	Programs Programs       // Ward's own
	State    string         // the agent's state directory; made if missing
	OwnState bool           // State is Ward's default directory: one of an earlier Ward has no mark
	Podman   fence.Podman   // where containers are made; unused if Unfenced
	Unfenced bool           // plain processes with the user's rights (SBX-8)
	Kube     *Kube          // run as Jobs on Kubernetes; nil: no
	Getenv   func(string) string
	Messages io.Writer                  // the launcher's own warnings and errors, for people
	Announce func()                     // called once nothing speaks against the launch; nil: nobody
	Redact   func() func(string) string // makes what takes secrets out of an agent's words, for one caller; nil takes none
	Profile  string                     // the directory in which it leaves at its end what it spent its time with; "" for nowhere
}

// Payload is what runs: the watcher with its agent or, fenced only, a command in
// their place.
type Payload struct {
	Model string // who works; "" with a Command
	Once  bool   // end when no directive is open
	// Directive is the only directive to work on, "" for any; needs Once.
	Directive string
	Logged    bool     // Stdout and Stderr are a log, shared among the workers
	Reset     bool     // the watcher first discards its state that is not in refs
	Command   []string // empty: the watcher and the agent
	Stdin     io.Reader
	// Stdout and Stderr get a command's output byte for byte, and an agent's cleaned.
	Stdout, Stderr io.Writer
}

// Script is the only model that may run without a fence (SBX-8), because it does only what its
// lines say.
const Script = "script"

// Only is the one model that may run where this launch runs its agents, "" for any.
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
	Forwarder string // runs as the first process of both, and connects to the gateway
	Ward      string // git-ward, which runs the repository's maintenance; always on the host
}

// launch is a running launch: the request, and what was found or made for it. Each fact is
// stored once, here.
type launch struct {
	spec       Spec
	log        zerolog.Logger  // the launcher's own; services use logOf
	file       io.Writer       // where both go
	lock       *os.File        // the launch lock
	gate       *os.File        // the repository directory that contains it
	scratch    *scratch.Dir    // the launch's private directory, for sockets
	tag        string          // NAME=value, set for all unfenced processes
	until      time.Time       // when [budget] time is spent
	policy     firewall.Policy // SBX-2 for this machine
	eventLog   *eventLog       // the live events of the work; nil with a command
	stdout     io.Writer       // for all workers, because the reader may stop reading
	stderr     io.Writer
	shares     sync.Map // outputs by slot: the slot's next worker continues its predecessor's quota
	newest     sync.Map // by directive: number of the newest unit seen
	ownBudgets ownBudgets
	meter      *gateway.Meter
	shared     *gateway.Shared
	book       *lease.Book    // nil with a command, which is not reported
	name       string         // the launcher's name, the prefix of its workers' names
	host       *host.Host     // has directives worked on; nil with a command
	fold       *fold.Fold     // nil before it serves
	asking     sync.WaitGroup // other machines' requests

	troubles troubles
	engine   engine
}

// ownScratch makes the launch's own directory for containers and sockets.
func (l *launch) ownScratch(dir *scratch.Dir) {
	l.scratch = dir
	l.spec.Podman.Scratch, l.spec.Podman.Own = dir.Path, dir
}

// agents is the most workers at once.
func (s *Spec) agents() int {
	if len(s.Payload.Command) > 0 || s.Payload.Directive != "" {
		return 1
	}
	return max(s.Settings.Launch.Agents, 1)
}

// workerState is the state directory of a worker's agent, from 1.
func (s *Spec) workerState(number int) string {
	if number == 1 {
		return s.State
	}
	return filepath.Join(s.State, fmt.Sprintf("w%d", number))
}

// disk is the image file of the fence's /bot, in a worker's state directory. A user's command
// has another one than the agent: an agent's leftovers would run in the command, and a
// command's files are not for the next directive to read or remove.
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
	gate, err := lockGate(ctx, s.Bare)
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
	log, measured, err := profiled(file, s.Profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, measured()) }()
	l.openLog(log, s.Messages)
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

// listen starts to record the work's events (SEE-1). The terminal's reader may stop reading
// without delaying an agent. The returned function ends both.
func (l *launch) listen(ctx context.Context) (end func()) {
	p := &l.spec.Payload
	stdout, stderr := lines.NewQueue(p.Stdout, maxUnread), lines.NewQueue(p.Stderr, maxUnread)
	l.stdout, l.stderr = stdout, stderr
	l.eventLog = l.newLives()
	telling, enough := context.WithCancel(context.WithoutCancel(ctx))
	go l.eventLog.run(telling)
	return func() {
		enough()
		<-l.eventLog.ended
		stdout.Close(unreadPatience)
		stderr.Close(unreadPatience)
	}
}

// openBook opens the leases of directives and frees those of workers that a killed launcher
// left.
func (l *launch) openBook(ctx context.Context) (err error) {
	var former string
	if l.name, former, err = lease.LauncherName(l.spec.Bare); err != nil {
		return err
	}
	l.book = &lease.Book{Repo: git.Open(l.spec.Bare), Settings: l.spec.Settings, Launcher: l.name, Former: former}
	runstate.ForgetWorkers(l.spec.Bare)
	held, err := l.book.Reclaim(ctx)
	if err != nil {
		return err
	}
	if err := l.keys().Keep(func(string) bool { return false }); err != nil { // those of other machines' workers, which will ask again
		return err
	}
	return l.engine.sweep(ctx, held)
}

const (
	// maxUnread is how many bytes of an agent's output may wait for its reader, and
	// unreadPatience how long a launch's end waits for it.
	maxUnread      = 1 << 20
	unreadPatience = 2 * time.Second
)
