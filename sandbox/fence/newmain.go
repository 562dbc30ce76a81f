package fence

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/sandbox/verifier"
)

// suitePath is where the suite's end on the project's branch is told, below the repository.
const suitePath = "ward/suite.json"

// Suite is how [verify] suite ended on a tip of the project's branch.
type Suite struct {
	Commit string `json:"commit"`
	OK     bool   `json:"ok"`
	Words  string `json:"words"` // one line, cleaned
}

// LastSuite is the suite's last end; ok is false where none was seen.
func LastSuite(bare string) (s Suite, ok bool) {
	data, err := os.ReadFile(filepath.Join(bare, suitePath))
	return s, err == nil && json.Unmarshal(data, &s) == nil && s.Commit != ""
}

// mainInterval is the time between two looks at the project's branch.
const mainInterval = 2 * time.Second

// followMain does what each new tip of the project's branch wants, until ctx ends: the
// cache is filled, and the suite is run (LOOP-12). Neither going wrong ends a launch.
func (l *launch) followMain(ctx context.Context) error {
	if len(l.spec.Payload.Command) > 0 { // somebody's command, and no verdict will come
		<-ctx.Done()
		return nil
	}
	v := l.verifier()
	repo, ref := git.Open(l.spec.Bare), l.spec.Settings.Control.ProjectRef()
	seen, done := git.Mark{}, ""
	for first := true; ; first = false {
		if mark := repo.Mark(ref); first || mark != seen {
			seen = mark
			if main, err := repo.Ref(ctx, ref); err == nil && main != git.Zero && main != done {
				done = main
				if err := v.Warm(ctx); err != nil && ctx.Err() == nil {
					l.log.Error().Err(err).Msg("the cache")
				}
				l.runSuite(ctx, v, main)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(mainInterval): // a ref tells nobody that it moves
		}
	}
}

// runSuite runs [verify] suite on a commit of the project's branch, once.
func (l *launch) runSuite(ctx context.Context, v *Verifier, main string) {
	line := l.spec.Settings.Verify.Suite
	if last, ok := LastSuite(l.spec.Bare); line == "" || ctx.Err() != nil || ok && last.Commit == main {
		return
	}
	claim := verifier.Claim{Commit: main, Main: main, Base: main, Replays: 1, Bounds: v.bounds(), Commands: []verifier.Command{{Name: "suite", Line: line}}}
	facts, err := v.Verify(ctx, claim)
	if err != nil {
		if ctx.Err() == nil {
			l.log.Error().Err(err).Msg("the suite cannot be run")
		}
		return
	}
	run := facts.Replays[0][0]
	s := Suite{main, facts.OK(), fmt.Sprintf("the suite passes on %s", diag.Short(main))}
	if !s.OK {
		s.Words = fmt.Sprintf("the suite does not pass on %s as it stands: %s %d: %s", diag.Short(main), run.End, run.Exit, diag.Clean(lastLines(run.Tail)))
		fmt.Fprintf(l.spec.Messages, "warning: %s\n", s.Words)
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = atomicfile.Write(filepath.Join(l.spec.Bare, suitePath), data, 0o644)
	}
	l.log.Info().Err(err).Str("commit", main).Bool("ok", s.OK).Msg("the suite has run")
}
