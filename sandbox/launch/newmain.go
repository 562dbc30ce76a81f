package launch

import (
	"context"
	"fmt"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/runstate"
	"git-ward/sandbox/verifier"
	"git-ward/sandbox/verifier/local"
)

// mainInterval is how often the project's branch is checked.
const mainInterval = 2 * time.Second

// followMain handles each new tip of the project's branch until ctx ends: it fills the cache
// and runs the suite (LOOP-12). Failures of these do not end a launch.
func (l *launch) followMain(ctx context.Context) error {
	if len(l.spec.Payload.Command) > 0 { // a user's command gets no verdict
		<-ctx.Done()
		return nil
	}
	v := l.engine.runner()
	repo, ref := git.Open(l.spec.Bare), l.spec.Settings.Control.ProjectRef()
	watch, done := repo.Watch(ref), ""
	for {
		if main, err := repo.Ref(ctx, ref); err == nil && main != git.Zero && main != done {
			done = main
			if err := l.lastGood().Moved(ctx); err != nil && ctx.Err() == nil {
				l.log.Error().Err(err).Msg("a rollback's target cannot be cleared")
			}
			if err := v.Warm(ctx); err != nil && ctx.Err() == nil {
				l.log.Error().Err(err).Msg("the cache")
			}
			l.runSuite(ctx, v, main)
		}
		if _, err := watch.Wait(ctx, mainInterval, time.Time{}, nil); err != nil {
			return nil
		}
	}
}

// runSuite runs [verify] suite once on a commit of the project's branch.
func (l *launch) runSuite(ctx context.Context, v local.Runner, main string) {
	line := l.spec.Settings.Verify.Suite
	if last, ok := runstate.LastSuite(l.spec.Bare); line == "" || ctx.Err() != nil || ok && last.Commit == main {
		return
	}
	claim := verifier.Claim{Commit: main, Main: main, Base: main, Replays: 1, Bounds: local.Bounds(l.spec.Settings), Commands: []verifier.Command{{Name: "suite", Line: line}}}
	facts, err := v.Verify(ctx, claim)
	if err != nil {
		if ctx.Err() == nil {
			l.log.Error().Err(err).Msg("the suite cannot be run")
		}
		return
	}
	run := facts.Replays[0][0]
	s := runstate.Suite{Commit: main, OK: facts.OK(), Words: fmt.Sprintf("the suite passes on %s", diag.Short(main))}
	if !s.OK {
		s.Words = fmt.Sprintf("the suite does not pass on %s as it stands: %s %d: %s", diag.Short(main), run.End, run.Exit, run.Last())
		fmt.Fprintf(l.spec.Messages, "warning: %s\n", s.Words)
	}
	err = s.Tell(l.spec.Bare)
	l.log.Info().Err(err).Str("commit", main).Bool("ok", s.OK).Msg("the suite has run")
}
