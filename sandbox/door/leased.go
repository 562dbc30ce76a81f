package door

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

// Lost means that a lease does not hold, or no longer holds. Another connection with this key
// would fail as well.
type Lost struct{ Err error }

func (l *Lost) Error() string { return l.Err.Error() }
func (l *Lost) Unwrap() error { return l.Err }

// leaseLook is the time between two checks of a lease while a connection lives: two stat
// calls, and a git child only when the ref has moved.
const leaseLook = time.Second

// The services besides git for a worker with a lease.
const (
	watchRequest   = "ward watch"
	gatewayRequest = "ward gateway"
	resultRequest  = "ward result"
)

// serveLeased serves a key of one lease while the lease is live.
func (s *Session) serveLeased(ctx context.Context, bare string) (code int, err error) {
	directive, _, ok := lease.ParseName(s.Lease)
	if !ok {
		return 0, fmt.Errorf("%q is no name of a lease, such as D-3.0123456789abcdef", diag.Clean(diag.Cut(s.Lease, 80)))
	}
	s.Principal, s.Name = Agent, s.Lease
	repo := git.Open(bare)
	may, done, err := holdsLease(ctx, repo, directive, s.Lease)
	if err != nil {
		return 0, err
	}
	defer done()
	code, err = s.answerLeased(ctx, may, repo, directive)
	if lost, ok := errors.AsType[*Lost](context.Cause(may)); ok {
		return 0, lost
	}
	return code, err
}

// serveVerdict serves the key of one verification while the socket for its result exists. Such a key can
// only fetch and deliver that result.
func (s *Session) serveVerdict(ctx context.Context, bare string) (code int, err error) {
	may, done, err := whileListening(ctx, s.Verdict)
	if err != nil {
		return 0, err
	}
	defer done()
	repo := git.Open(bare)
	switch verb, _ := requestedService(s.Command); {
	case s.Command == watchRequest:
		err = serveWatch(may, repo, func(ref string) bool { return false })
	case s.Command == resultRequest:
		err = joinSocket(may, s.Verdict)
	case verb == "upload-pack":
		code, err = s.git(bare, verb).stdio(ctx, s, may)
	default:
		err = &Lost{errors.New("a verifier's key may only read the repository and deliver its result")}
	}
	if lost, ok := errors.AsType[*Lost](context.Cause(may)); ok {
		return 0, lost
	}
	return code, err
}

// whileListening is ctx until a socket is gone; the cause is a *Lost.
func whileListening(ctx context.Context, socket string) (may context.Context, done func(), err error) {
	gone := func() bool {
		_, err := os.Stat(socket)
		return errors.Is(err, fs.ErrNotExist)
	}
	over := &Lost{errors.New("the verification is over")}
	if gone() {
		return nil, nil, over
	}
	may, cancel := context.WithCancelCause(ctx)
	go func() {
		for sleep(may, leaseLook) == nil { // poll: nothing tells that a file has gone
			if gone() {
				cancel(over)
			}
		}
	}()
	return may, func() { cancel(nil) }, nil
}

func (s *Session) answerLeased(ctx, may context.Context, repo *git.Repo, directive string) (code int, err error) {
	switch s.Command {
	case watchRequest:
		return 0, serveWatch(may, repo, concerning(directive))
	case gatewayRequest:
		path, err := s.gateway()
		if err != nil {
			return 0, err
		}
		return 0, joinSocket(may, path)
	}
	verb, err := requestedService(s.Command)
	if err != nil {
		return 0, err
	}
	service := s.git(repo.Dir, verb)
	service.turn = directive // a later lease of it has the same queue
	return service.stdio(ctx, s, may)
}

// holdsLease is ctx until a lease ends. It returns a *Lost if the lease does not hold now, and
// has one as its cause later. done ends the checks.
func holdsLease(ctx context.Context, repo *git.Repo, directive, name string) (may context.Context, done func(), err error) {
	watch := repo.Watch(lease.Ref(directive))
	held, err := readLease(ctx, repo, directive, name)
	if err != nil {
		return nil, nil, err
	}
	may, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		ended := func() bool { return !held.Live(time.Now()) }
		for {
			moved, err := watch.Wait(may, leaseLook, time.Time{}, ended)
			if err != nil {
				return
			}
			if moved {
				held, err = readLease(may, repo, directive, name)
			}
			if err == nil && ended() {
				err = lost(name, "has ended")
			}
			if err != nil {
				cancel(err)
				return
			}
		}
	}()
	return may, func() {
		cancel(nil)
		<-over
	}, nil
}

// readLease reads a directive's lease, which must be live and have that name.
func readLease(ctx context.Context, repo *git.Repo, directive, name string) (l lease.Lease, err error) {
	id, err := repo.Ref(ctx, lease.Ref(directive))
	if err != nil {
		return l, err
	}
	if id == git.Zero {
		return l, lost(name, "has been given back or revoked")
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	_, data, err := batch.Read(id, lease.MaxBytes)
	if err != nil {
		return l, err
	}
	l, err = lease.Parse(directive, data)
	switch {
	case err != nil:
		return l, &Lost{err}
	case l.Name() != name:
		return l, lost(name, "is another's now")
	case l.Doubt(time.Now()) != nil:
		return l, &Lost{l.Doubt(time.Now())}
	case !l.Live(time.Now()):
		return l, lost(name, "has ended")
	}
	return l, nil
}

func lost(name, how string) *Lost {
	return &Lost{diag.Hint(fmt.Errorf("the lease %s %s", name, how), "`git ward lease` at the gate says who has the directive now")}
}
