// Package launch is what the watcher and the launcher told this process when they
// started it: the branch and commit that it runs from, and until when it may work.
package launch

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"git-ward/agent/stop"
	"git-ward/protocols/boot"
)

// TimeSpent is why work ends when the launch's time is over. The launcher stops
// everything [budget] grace later: what lies between is for claims, reports and
// closing steps (UOW-3).
const TimeSpent = "the time of this launch, [budget] time, is spent"

// Launch is one start of the process. The zero value is one that nobody watches and
// that has all the time there is.
type Launch struct {
	Log    string    // the path of bootstrap.log, "" where nobody watches
	Branch string    // what was started: main, or a branch that has to prove itself
	Commit string    // its commit
	Main   string    // main's commit then; "" unless the program comes from the tree
	Until  time.Time // when the time is over; zero where no launcher said so
}

// From reads a launch from the environment.
func From(getenv func(string) string) Launch {
	until, _ := time.Parse(time.RFC3339Nano, getenv(boot.UntilVar)) // the launcher wrote it, or nobody did
	return Launch{Log: getenv(boot.LogVar), Branch: getenv(boot.BranchVar), Commit: getenv(boot.CommitVar),
		Main: getenv(boot.MainVar), Until: until}
}

// OnBranch reports whether the process runs from a branch that has to prove itself.
func (l Launch) OnBranch() bool { return l.Branch != "" && l.Branch != boot.Main }

// Over reports whether the time is over.
func (l Launch) Over() bool { return !l.Until.IsZero() && !time.Now().Before(l.Until) }

// WhyOver is why no more work may begin, "" while it may.
func (l Launch) WhyOver() string {
	if l.Over() {
		return TimeSpent
	}
	return ""
}

// Context ends when the time is over; its cause is stop.Spent then.
func (l Launch) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.Until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, l.Until, stop.New(stop.Spent, TimeSpent))
}

// Patience is how long something may be waited for that is wanted before the end,
// such as a verdict: at most as long as is given. Half of the grace that follows the
// end is left for what comes after it.
func (l Launch) Patience(most, grace time.Duration) time.Duration {
	if l.Until.IsZero() {
		return most
	}
	return min(most, time.Until(l.Until.Add(grace/2)))
}

// Succeeded tells the watcher that the process is able to work.
func (l Launch) Succeeded() error {
	if l.Log == "" {
		return nil
	}
	e := boot.Entry{Time: time.Now(), Event: boot.Success, Branch: l.Branch, Commit: l.Commit}
	f, err := os.OpenFile(l.Log, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(e.String() + "\n")
	return errors.Join(err, f.Close())
}
