// Package receive is the two hooks of a push, each one way from what git gives to an
// exit. Pre-receive: who pushes, the trace of the push beside git's quarantine, the
// checks' judgement, the record of a refusal or the admission. Post-receive: the record
// of what moved. The hook binary links nothing else, because its start is part of every
// push.
package receive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/checks"
	"git-ward/hooks/push"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Call is a hook's input from git, and where its output goes.
type Call struct {
	Stdin  io.Reader // one line an update (githooks(5))
	Stdout io.Writer // git sends both to the pusher, as `remote: ` lines
	Stderr io.Writer
	// RawStdout and RawStderr get a chained hook's output unchanged; the other two may clean
	// it.
	RawStdout, RawStderr io.Writer
	Getenv               func(string) string
	Environ              []string
}

// Hook is one of the two hooks. It returns nil, ErrRefused, or trouble.
type Hook func(context.Context, Call) error

// ErrRefused ends a pre-receive that has refused the push and has said why.
var ErrRefused = errors.New("the push is refused")

// Named is the hook that a program is, chosen by the path that it runs as: its own name
// or, below a delegate that runs hooks/NAME.d/*, its directory's; else by its one
// argument, for wrappers (`ward-hook pre-receive`).
func Named(path string, args []string) (Hook, error) {
	names := []string{filepath.Base(path), strings.TrimSuffix(filepath.Base(filepath.Dir(path)), ".d")}
	if len(args) == 1 {
		names = append(names, args[0])
	}
	for _, name := range names {
		switch name {
		case preReceive:
			return PreReceive, nil
		case postReceive:
			return PostReceive, nil
		}
	}
	return nil, fmt.Errorf("started as %q; this program is installed as pre-receive and post-receive by `git ward init --bare DIR`", path)
}

// session is the state that both hooks share.
type session struct {
	call     Call
	repo     *git.Repo
	batch    *git.Batch     // reads the quarantine, too
	settings *config.Config // after readSettings
	updates  []push.Update
	input    []byte         // the updates as git sent them, for chained hooks
	omitted  *audit.Omitted // what was sent besides
	start    time.Time      // UTC
	judged   *checks.Push   // after judge
	mover    audit.Process  // the git receive-pack that moves the refs; none where a server runs the hooks
	stop     context.CancelFunc
	gate     *os.File      // keeps maintenance out until pre-receive ends
	waited   time.Duration // for it, which is nobody's fault
	// stillJudging says that the checks have outlived their deadline and still use the batch.
	stillJudging bool
}

// Most hooks end before a collection of garbage would pay: it is rare until the heap has collectAt
// bytes. That is no limit: the limits on input keep a hook below 256 MiB.
const (
	collectAt = 128 << 20
	rarely    = 400 // percent (debug.SetGCPercent)
)

// open reads what git gives a hook. Stop ends the children of the session.
func open(ctx context.Context, call Call, stop context.CancelFunc) (*session, error) {
	s := &session{call: call, start: time.Now().UTC(), stop: stop, mover: audit.ReceivePack(os.Getppid())}
	repo, err := git.FromHook(call.Getenv)
	if err != nil {
		return nil, diag.Hint(err, "push to the repository instead; `git ward lint` runs the same checks in a clone")
	}
	s.repo = repo
	debug.SetGCPercent(rarely)
	debug.SetMemoryLimit(collectAt)
	if s.updates, s.input, s.omitted, err = readUpdates(call.Stdin); err != nil {
		return nil, err
	}
	s.batch = repo.Batch(ctx)
	refs := []string{"HEAD"} // git locks it with the branch that it names
	for _, u := range s.updates {
		refs = append(refs, u.Ref)
	}
	removed, err := repo.Unlock(ctx, refs...)
	s.mention(err)
	for _, name := range removed {
		fmt.Fprintf(call.Stderr, "warning: %s was left by a git that was killed, and is removed\n", diag.Clean(name))
	}
	return s, nil
}

// readSettings reads the repository's settings and puts its limits on children to come.
func (s *session) readSettings() (err error) {
	if s.settings, err = config.Load(s.repo.Dir); err != nil {
		return err
	}
	s.repo.Limits = s.settings.GitLimits()
	return nil
}

func (s *session) close() {
	if !s.stillJudging {
		s.batch.Close()
	}
	s.gate.Close() // nil is one that was never opened
}

// mention prints an error that does not change the answer; nil is nothing.
func (s *session) mention(err error) {
	if err != nil {
		fmt.Fprintf(s.call.Stderr, "error: %s\n", diag.Clean(err.Error()))
	}
}
