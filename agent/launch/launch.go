// Package launch reads what the watcher and the launcher pass to this process: the branch and
// commit that it runs from, and until when it may work.
package launch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"git-ward/agent/stop"
	"git-ward/protocols/boot"
)

// TimeSpent is the reason for ending work when the launch's time is over. The launcher stops
// everything [budget] grace later: what lies between is for claims, reports and closing steps
// (UOW-3).
const TimeSpent = "the time of this launch, [budget] time, is spent"

// Launch is one start of the process. The zero value has no watcher and no time limit.
type Launch struct {
	Log    string    // the path of bootstrap.log, "" where nobody watches
	Ask    int       // descriptor of the watcher's question, 0 for none
	Branch string    // what was started: main, or a branch on probation
	Commit string    // its commit
	Main   string    // main's commit then; "" unless the program comes from the tree
	Until  time.Time // the deadline; zero if no launcher set one
	Leased bool      // a launcher assigned the directive, and folds messages
}

// From reads a launch from the environment.
func From(getenv func(string) string) Launch {
	until, _ := time.Parse(time.RFC3339Nano, getenv(boot.UntilVar)) // written by the launcher, or by nobody
	ask, _ := strconv.Atoi(getenv(boot.AskVar))                     // likewise by the watcher
	return Launch{Log: getenv(boot.LogVar), Ask: ask, Branch: getenv(boot.BranchVar), Commit: getenv(boot.CommitVar),
		Main: getenv(boot.MainVar), Until: until, Leased: getenv(boot.LeaseVar) != ""}
}

// OnBranch reports whether the process runs from a branch on probation.
func (l Launch) OnBranch() bool { return l.Branch != "" && l.Branch != boot.Main }

// Over reports whether the time is over.
func (l Launch) Over() bool { return !l.Until.IsZero() && !time.Now().Before(l.Until) }

// WhyOver says why no more work may begin, "" while it may.
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

// answerTime bounds the answer: the question was asked before this process began.
const answerTime = 10 * time.Second

// Succeeded answers the watcher's question, that the process is able to work
// (boot.AskVar). It answers once: the descriptor is not for what this process starts.
func (l Launch) Succeeded() error {
	if l.Ask == 0 {
		return nil
	}
	os.Unsetenv(boot.AskVar)
	syscall.SetNonblock(l.Ask, true) // or there is no deadline
	f := os.NewFile(uintptr(l.Ask), boot.AskVar)
	if f == nil {
		return fmt.Errorf("%s=%d is no descriptor", boot.AskVar, l.Ask)
	}
	defer f.Close()
	if err := f.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return fmt.Errorf("%s=%d is no connection to the watcher: %w", boot.AskVar, l.Ask, err)
	}
	question, err := bufio.NewReader(io.LimitReader(f, boot.MaxLine)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the watcher's question whether the agent is up did not come: %w", err)
	}
	_, err = io.WriteString(f, boot.Answer(l.Branch, l.Commit, strings.TrimSuffix(question, "\n")))
	return err
}
