package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"git-ward/hooks/view"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/protocols/uow"
)

const transcriptUsage = "transcript [--iteration N] [--bare DIR] D-n|D-n.k"

// Transcript is `git ward transcript` (SEE-1).
var Transcript = cli.Command{Name: "transcript", Doc: "show what was said and done in a unit of work, as its record keeps it",
	Long: "A worker's input, words, tool calls and their results in order, redacted and bounded. It is the agent's own word, and proves nothing: the verdict does (git ward review D-1). " +
		"Without a unit, the newest one of the directive that has a transcript. Words are recorded when an iteration ends or is interrupted; until then git ward watch shows them, on the host.",
	Examples: []cli.Example{{Line: "transcript D-1", Doc: "all iterations of the newest unit"}, {Line: "transcript D-1.1 --iteration 2", Doc: "one of them"}},
	Run:      showTranscript}

func showTranscript(ctx context.Context, env *cli.Env) error {
	var bare string
	var iteration int
	args, err := env.Flags("transcript", transcriptUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.IntVar(&iteration, "iteration", 0, "the `N`th iteration only, from 1")
	})
	if err != nil {
		return err
	}
	if len(args) != 1 {
		return env.Usage(transcriptUsage, "transcript takes one directive, such as D-1, or one unit, such as D-1.1")
	}
	unit, err := uow.ParseID(args[0])
	if lease.IsDirective(args[0]) {
		unit, err = uow.ID{Directive: args[0]}, nil
	}
	if err != nil || iteration < 0 {
		return env.Usage(transcriptUsage, "%.40q is neither a directive, such as D-1, nor a unit of one, such as D-1.1", args[0])
	}
	repo, err := env.Repository(ctx, bare)
	if err != nil {
		return err
	}
	return transcripts(ctx, env, repo, unit, iteration)
}

// transcripts prints those of a unit; K is 0 for the newest unit that has any.
func transcripts(ctx context.Context, env *cli.Env, repo *git.Repo, unit uow.ID, iteration int) error {
	source, err := view.Open(ctx, repo)
	if err != nil {
		return err
	}
	if !source.Bare() {
		if err := source.Fetch(ctx, env.Dir, os.Environ(), view.RecordsOf(unit.Directive)); err != nil {
			fmt.Fprintf(env.Stderr, "git-ward: warning: %s; this is what was fetched before\n", diag.Clean(err.Error()))
		}
	}
	units := []uow.ID{unit}
	if unit.K == 0 {
		if units, err = source.Recorded(ctx, unit.Directive); err != nil {
			return err
		}
	}
	for _, id := range units {
		list, err := source.Transcripts(ctx, id)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return printTranscripts(ctx, env, source, id, list, iteration)
		}
	}
	return noTranscript(env, args(unit))
}

func args(unit uow.ID) string {
	if unit.K == 0 {
		return unit.Directive
	}
	return unit.String()
}

// noTranscript is exit 1: there is none to show.
func noTranscript(env *cli.Env, of string) error {
	directive, _, _ := strings.Cut(of, ".")
	cli.Report(env.Stderr, "git-ward", diag.Hint(fmt.Errorf("the record has no transcript of %s", of),
		"git ward uow show --all shows the units that there are; of one at work, git ward watch %s shows the words on the host", directive))
	return cli.ErrFindings
}

func printTranscripts(ctx context.Context, env *cli.Env, source *view.Source, unit uow.ID, list []view.TranscriptRef, only int) (err error) {
	shown := map[int]bool{}
	var order []int
	for _, t := range list {
		if !shown[t.Iteration] && (only == 0 || only == t.Iteration) {
			shown[t.Iteration] = true
			order = append(order, t.Iteration)
		}
	}
	if len(order) == 0 {
		return noTranscript(env, fmt.Sprintf("%s, iteration %d", unit, only))
	}
	page, err := env.Page(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	for _, n := range order {
		text, err := source.Transcript(ctx, unit, n)
		if err != nil {
			return err
		}
		page.Printf(cli.Bold, "%s, iteration %d: the agent's own word, proved by nothing\n", unit, n)
		if err := page.Print(cli.Plain, strings.TrimRight(text, "\n")+"\n\n"); err != nil {
			return nil // its reader has left
		}
	}
	return nil
}
