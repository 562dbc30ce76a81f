package launch

import (
	"context"
	"fmt"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/sandbox/fold"
	"git-ward/sandbox/verifier/local"
)

// openFold folds messages from workers' records into COMMS.md (MANY-2): one for the launch,
// wherever workers run.
func (l *launch) openFold() (service, error) {
	f := &fold.Fold{Repo: local.Repo(l.spec.Bare, l.spec.Settings), Settings: l.spec.Settings, Dir: l.scratch.Path, Log: l.logOf("fold")}
	if l.host != nil {
		f.Waits = l.host.Unfolded
	}
	l.fold = f
	return service{"the reports", func(ctx context.Context) error { return f.Serve(ctx, l.tellUnfolded) }}, nil
}

// tellUnfolded says that messages cannot come into COMMS.md, and why, or with nil that they can again.
func (l *launch) tellUnfolded(err error) {
	why := ""
	if err != nil {
		why = strings.Join(append([]string{err.Error()}, diag.Hints(err)...), "\n")
	}
	if failed := runstate.TellUnfolded(l.spec.Bare, why); failed != nil {
		log := l.logOf("fold")
		log.Error().Err(failed).Msg("git ward status does not know what waits for COMMS.md")
	}
	if err == nil {
		fmt.Fprintln(l.spec.Messages, "reports come into COMMS.md again")
		return
	}
	fmt.Fprintf(l.spec.Messages, "warning: reports wait on the records, and are not in COMMS.md yet: %s\n", diag.Clean(err.Error()))
}
