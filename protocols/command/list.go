package command

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/protocols/review"
	"git-ward/protocols/standing"
	"git-ward/protocols/state"
)

func directiveList(ctx context.Context, env *cli.Env) error {
	const usage = "directive show [--json] [--bare DIR] [--config FILE]"
	var o options
	if err := env.Only("directive show", usage, o.flags); err != nil {
		return err
	}
	u, err := openDirectives(ctx, env, o, "D-*")
	if err != nil {
		return err
	}
	defer u.close()
	all, err := u.snapshot()
	if err != nil {
		return err
	}
	broken := map[string]error{} // the others are shown all the same
	positions, err := all.Positions(u.history, func(directive string, err error) error {
		broken[directive] = fmt.Errorf("%s: %w", directive, err)
		return nil
	})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	if !o.json {
		fmt.Fprintln(w, "DIRECTIVE\tSTATE\tUNIT\tVERDICT\tWAITS FOR\tTITLE")
	}
	var unread error
	for i, p := range positions {
		listed := all.Doc.Directives[i]
		if err := broken[listed.Name()]; err != nil {
			unread = errors.Join(unread, err)
			if !o.json {
				fmt.Fprintf(w, "%s\tbroken\t-\t-\tyou, its journal is invalid: git ward fsck on the host\t%s\n", listed.Name(), diag.Cut(listed.Title.String(), 60))
			}
			continue
		}
		s := review.Stand(p)
		if o.json {
			if err := diag.WriteJSON(env.Stdout, s); err != nil {
				return err
			}
			continue
		}
		s.Waits.Why = "" // the column shows who has the next move, and the command
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Directive, s.State.Words(), dash(s.Unit), dash(s.Proof()), dash(s.WaitsWords()), diag.Cut(s.Title.String(), 60))
	}
	return errors.Join(w.Flush(), unread)
}

// history is the project's history, read once for many commits.
func (u *units) history(tip string, commits []string) (state.Ancestry, error) {
	return u.reader.Lineage(tip, commits, standing.Taken)
}

// dash is a text, or "-" for none.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
