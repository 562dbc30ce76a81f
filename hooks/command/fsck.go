package command

import (
	"context"
	"flag"
	"fmt"

	"git-ward/hooks/fsck"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/export"
)

const fsckUsage = "fsck [--repair] [--json] [--format FORMAT] [--bare DIR]"

// Fsck is `git ward fsck`: it proves that a repository is whole, or names what is not
// (GIT-3). It exits 1 with findings that are errors.
var Fsck = cli.Command{Name: "fsck", Doc: "prove that the audit is whole", Run: prove,
	Long:     "Reads the whole chain of pushes, the notes and the refs, and says what does not fit. Nothing is changed without --repair.",
	Examples: []cli.Example{{Line: `fsck --bare /srv/git/project.git`, Doc: "look, and change nothing"}}}

func prove(ctx context.Context, env *cli.Env) error {
	var o fsck.Options
	var bare string
	var format export.Format
	args, err := env.Flags("fsck", fsckUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.BoolVar(&o.Repair, "repair", false, "finish half-recorded pushes and rebuild the notes")
		format.Flags(fs)
	})
	if err != nil {
		return err
	}
	repo, err := repository(ctx, env, bare, args, fsckUsage)
	if err != nil {
		return err
	}
	defer env.Slow("reading every record, note and unit; git itself reads every object")()
	result, err := fsck.Run(ctx, repo, o)
	if err != nil {
		return err
	}
	switch {
	case format.Foreign():
		err = exportProof(env, result.Findings, format)
	case format == export.JSON:
		err = diag.WriteJSON(env.Stdout, result)
	default:
		writeProof(env, result)
	}
	if err == nil && diag.HasErrors(result.Findings) {
		return cli.ErrFindings
	}
	return err
}

func writeProof(env *cli.Env, r *fsck.Result) {
	for _, line := range r.Repaired {
		fmt.Fprintln(env.Stdout, "repaired: "+line)
	}
	diag.WriteText(env.Stdout, r.Findings)
	if r.UnitRecords > 0 || r.Verdicts > 0 {
		fmt.Fprintf(env.Stdout, "%d records of units, %s\n", r.UnitRecords, diag.Count(r.Verdicts, "verdict"))
	}
	fmt.Fprintf(env.Stdout, "%s, %s, %s\n", diag.Count(r.Records, "record"), diag.Count(r.Notes, "note"), diag.Count(len(r.Findings), "finding"))
}
