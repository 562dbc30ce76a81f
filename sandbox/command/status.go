package command

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
	"git-ward/internal/runstate"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// status is `git ward status`: what runs on a repository.
func status(ctx context.Context, env *cli.Env) error {
	var asJSON bool
	bare, err := bareFlag(env, "status", "status --bare DIR [--json]", func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one JSON object")
	})
	if err != nil {
		return err
	}
	if err := runstate.MayAsk(bare); err != nil {
		return err
	}
	pid, running := runstate.Running(bare)
	settings, err := config.Load(bare)
	if err != nil {
		if running && !asJSON { // true whatever somebody wrote into the settings since
			fmt.Fprintln(env.Stdout, runstate.LauncherText(bare, pid))
		}
		return err
	}
	reader := git.Open(bare).Reader(ctx)
	defer reader.Close()
	work, err := units(reader)
	if err != nil {
		return err
	}
	gone := hookdir.Gone(ctx, bare)
	troubles, err := runstate.Troubles(bare)
	if err != nil {
		return err
	}
	c := settings.Control
	if asJSON {
		return diag.WriteJSON(env.Stdout, map[string]any{"bare": bare, "running": running, "pid": pid, "units": work, "hooks": gone,
			"control": c.Branch, "project": c.Project, "mode": settings.Hooks.Mode, "backpressure": troubles, "warnings": runstate.Warnings(bare, settings)})
	}
	if gone != "" {
		fmt.Fprintf(env.Stdout, "warning: %s\n", diag.Clean(gone))
	}
	if c.Branch != mainBranch || c.Split() {
		fmt.Fprintf(env.Stdout, "directives are on the branch %s, the project is on %s\n", c.Branch, c.Project)
	}
	if settings.Hooks.Mode == config.Observe {
		fmt.Fprintln(env.Stdout, `people's pushes pass whatever they hold ([hooks] mode = "observe"): git ward log --would lists what would have been refused`)
	}
	if running {
		fmt.Fprintln(env.Stdout, runstate.LauncherText(bare, pid))
		if j, ok := runstate.JudgingNow(bare); ok {
			fmt.Fprintf(env.Stdout, "verdict on %s: %s\n", j.Unit, j.Words)
		}
	} else {
		fmt.Fprintf(env.Stdout, "nothing runs on %s\nnext: git ward launch --bare %s\n", bare, bare)
	}
	for _, line := range runstate.Warnings(bare, settings) {
		fmt.Fprintf(env.Stdout, "warning: %s\n", diag.Clean(line))
	}
	fmt.Fprint(env.Stdout, diag.CleanLines(runstate.TroublesText(troubles)))
	if s, ok := runstate.LastSuite(bare); ok && !s.OK && settings.Verify.Suite != "" {
		fmt.Fprintf(env.Stdout, "warning: %s\n", diag.Clean(s.Words))
	}
	_, err = fmt.Fprint(env.Stdout, statusText(work))
	return err
}

// mainBranch is where both are that nobody has to be told of.
const mainBranch = "main"

// unit is a unit of work as `git ward status` shows it.
type unit struct {
	*uow.Record
	Verdicts []loop.Verdict `json:"verdicts"` // on its claims, oldest first
}

// maxShown is how many claims of a unit are looked up: as many as the picture has
// columns.
const maxShown = 30

// units reads the units that are not put away: the last record of each, and the
// verdicts on its claims.
func units(reader state.Reader) ([]unit, error) {
	all, _, err := state.Units(reader)
	if err != nil {
		return nil, err
	}
	list := []unit{}
	for _, u := range all {
		last, err := state.Record(reader, u.Tip)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", u.ID, err)
		}
		if last.State == uow.Archived {
			continue
		}
		claims, err := state.Claims(reader, u.Tip, maxShown)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", u.ID, err)
		}
		verdicts, err := state.VerdictsOf(reader, u.ID, claims)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", u.ID, err)
		}
		list = append(list, unit{last, verdicts})
	}
	return list, nil
}

// statusText words the units for a person.
func statusText(list []unit) string {
	var b strings.Builder
	for _, u := range list {
		for line := range strings.Lines(loop.Overview(u.Record, u.Verdicts)) {
			b.WriteString(diag.Clean(strings.TrimRight(line, "\n")) + "\n")
		}
	}
	return b.String()
}
