package launch

import (
	"context"
	"fmt"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
	"git-ward/internal/runstate"
	"git-ward/protocols/forge"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
	"git-ward/sandbox/notify"
)

// openNotifier tells an absent PM what waits for him (SEE-3).
func (l *launch) openNotifier() (service, error) {
	n := &notify.Notifier{Bare: l.spec.Bare, Settings: l.notifySettings, Version: l.version, Look: l.waiting, Log: l.logOf("notify")}
	if len(l.spec.Payload.Command) > 0 { // a user's command is not reported
		n.Settings = func() notify.Settings { return notify.Settings{} }
	}
	return service{"the notifier", n.Serve}, nil
}

// notifySettings are the current [notify] settings, so that changes during a launch take
// effect. If they are unreadable, the launch's apply.
func (l *launch) notifySettings() notify.Settings {
	now, err := config.Load(l.spec.Bare)
	if err != nil {
		now = l.spec.Settings
	}
	return notify.Settings{Command: now.Notify.Command, Timeout: now.Notify.Timeout.Duration, PerHour: now.Notify.PerHour}
}

// version changes with what people may wait for: pushes are in the audit, verdicts in notes,
// and a launch's messages in files.
func (l *launch) version() string {
	repo := git.Open(l.spec.Bare)
	return fmt.Sprint(repo.Mark(state.AuditRef), repo.Mark(loop.VerdictsRef), repo.Mark(forge.WordRef), runstate.Version(l.spec.Bare))
}

// lookTime bounds one reading of everything that waits.
const lookTime = time.Minute

// waiting asks git-ward, so that there is a single definition of what waits, and adds a
// missing gate, which no record can report.
func (l *launch) waiting(ctx context.Context) ([]notify.Waiting, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	out, err := wardCommand(ctx, l.spec.Programs.Ward, l.spec.Bare, "status", "--json", "--bare", l.spec.Bare).Output()
	if err != nil {
		return nil, fmt.Errorf("git ward status: %w", err)
	}
	list, err := notify.Parse(out, time.Now())
	if gone := hookdir.Gone(ctx, l.spec.Bare); gone != "" {
		w := uow.HooksGone.Waiting("", "", "")
		list = append(list, notify.Waiting{Key: "gate gone", Kind: "incident", What: w.Why, Words: diag.Untrusted(gone), Command: w.Command + " --bare " + diag.Word(l.spec.Bare)})
	}
	return list, err
}
