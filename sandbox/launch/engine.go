package launch

import (
	"context"
	"io"
	"time"

	"git-ward/protocols/lease"
	"git-ward/sandbox/verifier"
)

// Engine runs what workers are there for, and what is judged, in another place than this host's
// podman, such as in a cluster's pods (MANY-3).
type Engine interface {
	// Sweep takes away what an earlier launcher of this name left running. Its leases are free
	// after it, and the work goes on from refs.
	Sweep(ctx context.Context) error
	// Where is where a directive is worked on, in one line for people and for its lease.
	Where(directive string) string
	// Run runs a piece of work to its end: nil is a good one, all else is tried again after
	// a pause. When ctx ends, so does the work, and Run returns when nothing of it runs any
	// more.
	Run(ctx context.Context, w Work) error
	// Verify runs the commands of a claim.
	Verify(ctx context.Context, claim verifier.Claim) (*verifier.Facts, error)
}

// Work is one directive that a worker elsewhere is to work on.
type Work struct {
	Holder    string // the worker's name
	Directive string
	Lease     lease.Lease // of the directive; it is renewed while Run goes on
	Gateway   string      // the socket on this host that leads the worker to the models
	Model     string
	Until     time.Time // when [budget] time is spent
	// Stdout and Stderr get what the watcher prints, as it comes.
	Stdout, Stderr io.Writer
	// Up is to be called when the work runs, and Why with one line on why it does not, with
	// the remedy, or "" when that is over.
	Up  func()
	Why func(line string)
}
