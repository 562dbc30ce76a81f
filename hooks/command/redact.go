package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"git-ward/hooks/redact"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

const redactUsage = "redact -m TEXT [--bare DIR] [--dry-run] [--json] FILE ..."

// Redact is `git ward redact`: it takes files out of the history of every branch and
// record of a bare repository, and leaves a tombstone in the audit (REC-5).
var Redact = cli.Command{Name: "redact", Doc: "take a file out of the whole history, with a tombstone", Run: takeOut,
	Long:     "Every commit with the file is rewritten with a tombstone in its place, and the audit says who did it and why. Everybody has to clone again.",
	Examples: []cli.Example{{Line: `redact --bare /srv/git/project.git -m "a key was in it" --dry-run secrets.env`, Doc: "say what would move"}}}

func takeOut(ctx context.Context, env *cli.Env) error {
	var req redact.Request
	var bare string
	var asJSON bool
	files, err := env.Flags("redact", redactUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.StringVar(&req.Why, "m", "", "why, in one line of `text`: it stands in the file's place")
		fs.BoolVar(&req.Try, "dry-run", false, "only say what would move")
		fs.BoolVar(&asJSON, "json", false, "one JSON object")
	})
	switch {
	case err != nil:
		return err
	case len(files) == 0:
		return env.Usage(redactUsage, "the files are needed, each as REV:PATH or as a blob's id")
	case strings.TrimSpace(req.Why) == "" || diag.Clean(req.Why) != req.Why:
		return env.Usage(redactUsage, "-m says why, in one line of text")
	}
	repo, err := env.Repository(ctx, bare)
	if err != nil {
		return err
	}
	if _, err := config.Load(repo.Dir); err != nil {
		return diag.Hint(err, "redact is for the bare repository that Ward guards: git ward init --bare DIR")
	}
	req.Files, req.Time = files, time.Now()
	defer env.Slow("writing the history anew")()
	r, err := redact.Run(ctx, repo, req)
	if refused, ok := errors.AsType[*redact.Refused](err); ok {
		writeRefused(env, refused, err)
		return cli.ErrFindings
	}
	if err != nil {
		return err
	}
	if asJSON {
		return diag.WriteJSON(env.Stdout, map[string]any{"objects": r.Objects, "refs": r.Refs, "commits": r.Commits, "record": r.Record})
	}
	writeRedacted(env, r, repo.Dir)
	return nil
}

// writeRefused says each reason on a line, and the remedy once.
func writeRefused(env *cli.Env, r *redact.Refused, err error) {
	for _, why := range r.Why {
		fmt.Fprintln(env.Stdout, "not redacted: "+diag.Clean(why))
	}
	if hinted, ok := errors.AsType[*diag.Hinted](err); ok {
		fmt.Fprintln(env.Stdout, "hint: "+diag.Clean(hinted.Hint))
	}
}

func writeRedacted(env *cli.Env, r *redact.Result, bare string) {
	does, moved := "redacted", "moved"
	if r.Record == 0 {
		does, moved = "would redact", "would move"
	}
	for _, o := range r.Objects {
		fmt.Fprintf(env.Stdout, "%s %s (%s)\n", does, diag.Clean(o.Path), diag.Short(o.Blob))
	}
	for _, u := range r.Refs {
		fmt.Fprintf(env.Stdout, "%s %s\n", moved, diag.Clean(u.Ref))
	}
	if r.Record == 0 {
		fmt.Fprintf(env.Stdout, "%s, %s: nothing was changed\n", diag.Count(r.Commits, "commit"), diag.Count(len(r.Refs), "ref"))
		return
	}
	fmt.Fprintf(env.Stdout, "%s made anew; record %d of the audit has the tombstone\n", diag.Count(r.Commits, "commit"), r.Record)
	fmt.Fprintf(env.Stdout, "next: git ward maintain %s frees the objects; whoever has a clone clones anew, or git fetch and git reset --hard\n", bare)
	fmt.Fprintln(env.Stdout, "note: what was read is known; change the key itself")
}
