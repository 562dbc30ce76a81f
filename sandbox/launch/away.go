package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/scratch"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/host"
	"git-ward/sandbox/relay"
)

// Remote is a launch on another machine than the repository's. Its workers get directives from
// the launcher at the gate, one at a time, each with its own key (MANY-2).
type Remote struct {
	Gate     relay.Config // Gate, Key and KnownHosts: with the permanent key
	Agents   int          // workers, each on a directive
	Once     bool         // end when nothing is free
	State    string       // state directory on this machine; made if missing
	OwnState bool         // as Spec's
	Programs Programs
	Podman   fence.Podman
	Unfenced bool
	Getenv   func(string) string
	Messages io.Writer // messages for people
}

// The pauses of a worker whose gate is away, or whose work ended badly, doubled from the
// first to the longest.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// remoteLaunch is a running launch for another machine's repository.
type remoteLaunch struct {
	Remote
	host    *relay.Host
	scratch *scratch.Dir
	tag     string // as a launch's
	log     func(format string, args ...any)
}

// RunAway works until ctx ends or, with Once, until no work is free. It returns a *relay.Refused
// where the gate turns this machine away.
func RunAway(ctx context.Context, spec Remote) (err error) {
	var state *os.File
	if state, spec.State, err = claim(spec.State, spec.OwnState); err != nil {
		return err
	}
	defer state.Close()
	spec.Messages = &locked{out: spec.Messages} // all workers write to it
	a := &remoteLaunch{Remote: spec}
	if a.tag, err = tagOf(state, spec.State); err != nil {
		return err
	}
	left := endLeft(a.tag)
	defer endLeft(a.tag)
	if a.scratch, err = scratch.Make(spec.Podman.Scratch, ""); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.scratch.Remove()) }()
	a.log = func(format string, args ...any) {
		fmt.Fprintln(a.Messages, diag.Clean(fmt.Sprintf(format, args...)))
	}
	if left > 0 {
		a.log("ended %s that an unfenced launch which was killed left running", diag.Count(left, "process"))
	}
	a.Gate.Log = logger(io.Discard, io.Discard)
	if a.host, err = relay.NewHost(a.Gate); err != nil {
		return err
	}
	defer a.host.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for number := 1; number <= a.Agents; number++ {
		workers.Go(func() {
			if err := a.keepWorking(ctx, number); err != nil {
				cancel(err)
			}
		})
	}
	workers.Wait()
	if refused, ok := errors.AsType[*relay.Refused](context.Cause(ctx)); ok {
		return refused
	}
	return nil
}

// locked makes a writer safe for concurrent use.
type locked struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// keepWorking is one worker: it asks, works, and asks again, with pauses while the gate is
// unreachable or its work fails.
func (a *remoteLaunch) keepWorking(ctx context.Context, number int) error {
	pause := firstPause
	for {
		did, err := a.work(ctx, number)
		var refused *relay.Refused
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &refused) && !did:
			return err
		case err != nil:
			a.log("worker %d: %v; it tries again in %v", number, firstLine(err, nil), pause)
		case did:
			pause = firstPause
			continue
		case a.Once:
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// work asks the gate for a directive and works on it to its end; did is false without one.
func (a *remoteLaunch) work(ctx context.Context, number int) (did bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	command := fmt.Sprintf("ward work %d", number)
	if a.Once {
		command += " once"
	}
	stream, err := a.host.Ask(ctx, command)
	if err != nil {
		return false, err
	}
	defer stream.Close()
	answers := &answers{to: json.NewEncoder(stream)}
	go answers.beat(ctx)
	reader := bufio.NewReaderSize(stream, maxSaid)
	line, err := reader.ReadSlice('\n')
	if err != nil {
		return false, stream.Wait()
	}
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return false, fmt.Errorf("what the gate assigns cannot be read: %w", err)
	}
	go func() { // when the gate disconnects, the work ends
		io.Copy(io.Discard, reader)
		cancel()
	}()
	a.log("%s: begins", o.Directive)
	err = a.carryOut(ctx, number, o, answers)
	ended := ending(err)
	answers.say(ended)
	a.log("%s: ended%s", o.Directive, map[bool]string{true: ": " + ended.Why}[err != nil])
	return true, err
}

// ending is the message of how work has ended.
func ending(err error) said {
	ended := said{Ended: true}
	if err != nil {
		ended.Why, ended.Apart = firstLine(err, nil), errors.As(err, new(*host.Ended))
	}
	return ended
}

// answers writes messages to the gate.
type answers struct {
	mu sync.Mutex
	to *json.Encoder
}

func (a *answers) say(s said) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.to.Encode(s)
}

// printed sends the watcher's output to the gate in pieces.
type printed struct{ say func(piece string) error }

func (to *printed) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxSaid/16) // JSON may make it six times as long
		if err := to.say(string(rest[:n])); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

func (a *answers) out(piece string) error { return a.say(said{Out: piece}) }
func (a *answers) err(piece string) error { return a.say(said{Err: piece}) }

func (a *answers) beat(ctx context.Context) {
	for a.say(said{}) == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(handBeat):
		}
	}
}

// remoteJob is an order while a worker here executes it.
type remoteJob struct {
	order
	number  int // of the worker
	dir     *scratch.Dir
	state   string // the agent's directory
	mirror  string // of the repository
	answers *answers
}

// carryOut runs an order's payload with its own near process.
func (a *remoteLaunch) carryOut(ctx context.Context, number int, o order, answers *answers) error {
	made, err := scratch.Make(a.scratch.Path, "")
	if err != nil {
		return err
	}
	defer made.Remove()
	state := a.workerState(number)
	e := remoteJob{order: o, number: number, dir: made, state: state, mirror: filepath.Join(state, "mirror"), answers: answers}
	settings, err := e.prepare()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		c := relay.Config{Gate: a.Gate.Gate, KnownHosts: a.Gate.KnownHosts, Key: e.key(), Dir: made.Path, Mirror: e.mirror, Own: true, Log: a.Gate.Log, Ready: func() { close(ready) }}
		err := relay.Run(ctx, c)
		cancel(err) // without it the agent is useless
		ended <- err
	}()
	select {
	case <-ready:
	case err := <-ended:
		return err
	}
	answers.say(said{Up: true})
	err = a.payload(ctx, e, settings)
	apart := ctx.Err() != nil // its way to the gate has ended first, or this launch
	cancel(nil)
	if err = errors.Join(err, <-ended); err != nil && apart {
		return &host.Ended{Why: err}
	}
	return err
}

// workerState is the state directory of a worker's agent, from 1.
func (a *Remote) workerState(number int) string {
	return filepath.Join(a.State, fmt.Sprintf("w%d", number))
}

// key is the path of the lease's key.
func (e *remoteJob) key() string { return filepath.Join(e.dir.Path, "key") }

// prepare makes the worker's directories, with the lease's key and the repository's settings.
func (e *remoteJob) prepare() (*config.Config, error) {
	settings, err := config.Parse([]byte(e.Settings), config.Path)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{e.state, e.mirror, filepath.Join(e.mirror, "ward"), filepath.Join(e.mirror, "hooks")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(e.key(), []byte(e.Key), 0o600); err != nil {
		return nil, err
	}
	if err := atomicfile.Write(filepath.Join(e.mirror, config.Path), []byte(e.Settings), 0o644); err != nil {
		return nil, err
	}
	return settings, prepareState(e.state, e.mirror)
}

// payload runs the watcher and the agent on one directive in this machine's fence.
func (a *remoteLaunch) payload(ctx context.Context, e remoteJob, settings *config.Config) (err error) {
	l := newLaunch(Spec{Bare: e.mirror, Settings: settings, State: e.state,
		Programs: a.Programs, Podman: a.Podman, Unfenced: a.Unfenced, Getenv: a.Getenv, Messages: a.Messages,
		Payload: Payload{Model: e.Model, Once: a.Once, Stdout: &printed{e.answers.out}, Stderr: &printed{e.answers.err}}})
	l.ownScratch(e.dir)
	l.tag, l.until, l.log, l.file = a.tag, e.Until, logger(io.Discard, a.Messages), io.Discard
	if err := l.spec.CheckModel(e.Model); err != nil {
		return diag.Hint(err, "leave --unfenced out")
	}
	if l.policy, err = l.engine.findPolicy(ctx); err != nil {
		return err
	}
	gate, err := a.Gate.Addresses(ctx)
	if err != nil {
		return fmt.Errorf("the gate's addresses, which the fence is to refuse to agents, were not found: %w", err)
	}
	l.policy.Refuse = append(l.policy.Refuse, gate...)
	if err := l.engine.room(a.Agents, a.workerState); err != nil { // of this machine
		return err
	}
	end, err := l.engine.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := l.engine.ready(); err != nil {
		return err
	}
	w := &worker{launch: l, number: e.number, only: e.Directive, state: e.state, payload: l.spec.Payload,
		door: filepath.Join(e.dir.Path, "door", fence.SocketName), gateway: filepath.Join(e.dir.Path, "gateway", fence.SocketName)}
	return l.engine.run(ctx, w)
}
