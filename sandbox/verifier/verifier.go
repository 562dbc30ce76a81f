// Package verifier runs the commands of a claim elsewhere: on a clean checkout of
// the claimed commit, what decides put back as main has it, each command in a
// fresh container without network, door or gateway (LOOP-5). It says what
// happened; what that amounts to is for protocols/loop.
//
// What it says is no more than this: these commands, in this image, ended so on
// this commit. Code can still cheat its own tests, which is why the PM merges by
// default.
package verifier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ward/internal/git"
)

// Claim is what somebody says is done.
type Claim struct {
	Commit   string    // the claimed commit, a full object id
	Main     string    // the commit of main that pinned paths come from
	Commands []Command // in the order in which they run
	Frozen   []string  // globs: as on main, and nothing new
	Pinned   []string  // globs: what main has there is as on main
	Replays  int       // how often all of it runs; at least 1
}

// Command is one line for `sh -c`.
type Command struct {
	Name string `json:"name"` // "criterion 1", "residual", "suite", "validate"
	Line string `json:"line"`
	// Own marks what the claimed tree says of itself: the programs that it runs are
	// the tree's own, and not main's.
	Own bool `json:"own,omitzero"`
}

// Facts are what running a claim showed.
type Facts struct {
	Commit     string      `json:"commit"`
	Main       string      `json:"main"`
	Tree       string      `json:"tree"` // what ran: Commit's tree with the deviations undone
	Deviations []Deviation `json:"deviations"`
	Image      string      `json:"image"` // empty: none
	Fence      string      `json:"fence"` // podman or none
	Replays    [][]Run     `json:"replays"`
}

// OK reports whether every command of every replay was met.
func (f *Facts) OK() bool {
	for _, runs := range f.Replays {
		for i := range runs {
			if !runs[i].OK() {
				return false
			}
		}
	}
	return len(f.Replays) > 0
}

// Run is one command's end.
type Run struct {
	Command
	Outcome
}

// The ways a command ends.
const (
	Exited   = "exit"    // by itself; see Exit
	TimedOut = "timeout" // [verify] timeout
	Flooded  = "output"  // more output than [verify] output_size
)

// Outcome is how a command ended and what it said.
type Outcome struct {
	End    string        `json:"end"`
	Exit   int           `json:"exit"` // 128 and more where End is not Exited
	Bytes  int64         `json:"bytes"`
	SHA256 string        `json:"sha256"` // of its output, both streams as they came
	Tail   string        `json:"tail"`   // the last of it, valid UTF-8
	Time   time.Duration `json:"-"`
	// Stdout's last line that is not blank, for the residual; at most 4 KiB.
	LastLine string `json:"-"`
}

// OK reports whether the command ended by itself with exit code 0.
func (o *Outcome) OK() bool { return o.End == Exited && o.Exit == 0 }

// Runner runs one command on a checkout that nothing else has touched.
type Runner interface {
	// Run fails only when the command could not be run; how it ended is an
	// Outcome.
	Run(ctx context.Context, c Checkout, line string) (Outcome, error)
	// Fence is "podman" or "none", and the image, if any.
	Fence() (fence, image string)
}

// Checkout is what a command runs on: Commit checked out, with Tree in the place
// of its files.
type Checkout struct{ Commit, Tree string }

// Verify runs every command of a claim, each on its own checkout, and once more
// for each replay.
func Verify(ctx context.Context, repo *git.Repo, runner Runner, claim Claim) (*Facts, error) {
	if len(claim.Commands) == 0 || claim.Replays < 1 {
		return nil, errors.New("a claim needs a command and at least one run of it")
	}
	tree, deviations, err := overlay(ctx, repo, &claim)
	if err != nil {
		return nil, fmt.Errorf("the checkout of %.12s cannot be made: %w", claim.Commit, err)
	}
	f := &Facts{Commit: claim.Commit, Main: claim.Main, Tree: tree, Deviations: deviations}
	f.Fence, f.Image = runner.Fence()
	for range claim.Replays {
		var runs []Run
		for _, c := range claim.Commands {
			outcome, err := runner.Run(ctx, Checkout{claim.Commit, tree}, c.Line)
			if err != nil {
				return nil, fmt.Errorf("%s cannot be run: %w", c.Name, err)
			}
			runs = append(runs, Run{c, outcome})
		}
		f.Replays = append(f.Replays, runs)
	}
	return f, nil
}
