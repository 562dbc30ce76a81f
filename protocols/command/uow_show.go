package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

func uowList(ctx context.Context, env *cli.Env) error {
	const usage = "uow show [--all] [--json] [--bare DIR]"
	var all, asJSON bool
	var bare string
	err := env.Only("uow show", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&all, "all", false, "archived ones, too")
		fs.BoolVar(&asJSON, "json", false, "the last record of each, one a line")
		cli.Bare(fs, &bare)
	})
	if err != nil {
		return err
	}
	u, err := openUnits(ctx, env, bare, "")
	if err != nil {
		return err
	}
	defer u.close()
	units, _, err := state.Units(u.reader)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	if !asJSON {
		fmt.Fprintln(table, "UNIT\tSTATE\tITERATION\tLEFT\tSINCE\tREASON\tWAITS FOR")
	}
	var broken error
	for _, unit := range units {
		r, err := u.newest(unit)
		if err != nil {
			broken = errors.Join(broken, err)
			if !asJSON {
				fmt.Fprintf(table, "%s\tbroken\t\t\t\t\t%s, its journal is invalid: git ward fsck on the host\n", unit.ID, uow.ForYou)
			}
			continue
		}
		if r.State == uow.Archived && !all {
			continue
		}
		if asJSON {
			if err := diag.WriteJSON(env.Stdout, r); err != nil {
				return err
			}
			continue
		}
		w, err := u.waits(r)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d of %d\t%s\t%s\t%s\n", r.ID, r.Words(), r.Iteration, r.Budget.Left().Iterations, r.Budget.Total.Iterations, r.Time, dash(r.ReasonCode.Words()), w)
	}
	return errors.Join(table.Flush(), broken)
}

// newest is a unit's last record, where its journal holds: of one that is put away, where
// the record itself does, for there are many. What is wrong with one journal is told of it,
// and hides no other.
func (u *units) newest(unit state.Unit) (*uow.Record, error) {
	if r, err := state.Record(u.reader, unit.Tip); err == nil && r.State == uow.Archived && u.rewritten[unit.ID] == "" {
		return r, nil
	}
	j, err := u.journal(unit.ID)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", unit.ID, err)
	}
	return j.Last(), nil
}

func uowShow(ctx context.Context, env *cli.Env) error {
	const usage = "uow show [--json] [--bare DIR] UNIT"
	var asJSON bool
	var bare string
	args, err := env.Flags("uow show", usage, func(fs *flag.FlagSet) {
		fs.BoolVar(&asJSON, "json", false, "one record a line, oldest first")
		cli.Bare(fs, &bare)
	})
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return env.Usage(usage, "show takes one unit, such as D-1.1")
	}
	id, err := uow.ParseID(args[0])
	if err != nil {
		return env.Usage(usage, "%v", err)
	}
	u, err := openUnits(ctx, env, bare, "")
	if err != nil {
		return err
	}
	defer u.close()
	j, err := u.journal(id)
	if err != nil {
		return err
	}
	if j == nil {
		return diag.Hint(fmt.Errorf("there is no unit %s", id), "git ward uow show --all")
	}
	if asJSON {
		for _, r := range j.Records {
			if err := diag.WriteJSON(env.Stdout, r); err != nil {
				return err
			}
		}
		return nil
	}
	claims, err := state.Claims(u.reader, j.Tip, len(j.Records))
	if err != nil {
		return err
	}
	verdicts, err := state.VerdictsOf(u.reader, id, claims)
	if err != nil {
		return err
	}
	w, err := u.waits(j.Last())
	fmt.Fprintln(env.Stdout, unitText(j.Records, verdicts, w))
	return err
}

// unitText is a unit for people: where it stands, its budget, how its residual
// went, what the host said of its claims, and its journal.
func unitText(records []*uow.Record, verdicts []loop.Verdict, w uow.Waiting) string {
	last := records[len(records)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", last.Line(w), last.Budgets())
	if len(verdicts) > 0 {
		fmt.Fprintf(&b, "residual\n%s\n", loop.Plot(loop.History(verdicts), 30, 5))
	}
	for _, v := range verdicts {
		text := v.Words()
		for line := range strings.Lines(text) {
			b.WriteString(diag.Clean(strings.TrimRight(line, "\n")) + "\n")
		}
	}
	if len(verdicts) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(uow.History(records))
	return strings.TrimRight(b.String(), "\n")
}
