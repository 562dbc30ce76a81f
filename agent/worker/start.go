package worker

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"git-ward/agent/store"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// Start is what a watcher started this process from, and for how long; the zero
// value is none.
type Start struct {
	Log    string // bootstrap.log
	Branch string
	Commit string
	Main   string    // main's commit then; "" unless the program comes from the tree
	Until  time.Time // when the launch's time is spent; zero where no launcher said so
}

// StartFrom reads what the watcher said.
func StartFrom(getenv func(string) string) Start {
	until, _ := time.Parse(time.RFC3339Nano, getenv(boot.UntilVar)) // the launcher wrote it, or nobody did
	return Start{getenv(boot.LogVar), getenv(boot.BranchVar), getenv(boot.CommitVar), getenv(boot.MainVar), until}
}

// onBranch reports whether the process runs from a branch that has to prove
// itself.
func (s Start) onBranch() bool { return s.Branch != "" && s.Branch != boot.Main }

// succeed writes SUCCESS once the agent is able to work: its settings make sense,
// its state is its own, and main can be read.
func (a *agent) succeed(ctx context.Context) error {
	if a.Start.Log == "" {
		return nil
	}
	if _, err := a.store.Main(ctx); err != nil {
		return err
	}
	e := boot.Entry{Time: time.Now(), Event: boot.Success, Branch: a.Start.Branch, Commit: a.Start.Commit}
	f, err := os.OpenFile(a.Start.Log, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(e.String() + "\n")
	return errors.Join(err, f.Close())
}

// upgrade ends a process that runs old code: main's moved since it was started.
func (a *agent) upgrade(ctx context.Context, main store.Snapshot) error {
	if a.Start.Main == "" || a.Start.Main == main.Commit {
		return nil
	}
	same, err := a.store.SameCode(ctx, a.Start.Main, main.Commit)
	if err != nil || same {
		return err
	}
	a.log.Info().Str("commit", diag.Short(main.Commit)).Msg("main's code moved: starting anew from it")
	return a.signal(boot.Main)
}

func (a *agent) signal(branch string) error {
	if err := tool.WriteSignal(a.State, "bootstrap", branch); err != nil {
		return err
	}
	return tool.Restart()
}
