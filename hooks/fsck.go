package hooks

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

const fsckUsage = "fsck [--repair] [--json] [DIR]"

// Fsck is `git ward fsck`: it walks the audit chain again and proves that each
// record follows the one before, that none is gone from its end, that the notes say
// the same, that every ref is where the chain left it, that no push is half recorded,
// and that the units of work, verdicts and evidence are whole (GIT-3). A broken record
// is named, and what comes after it is proved all the same. --repair finishes
// half-recorded pushes, rebuilds the notes, which are only an index, puts back a cut
// end that is still stored, and sets broken records and files aside; the chain itself
// is never rewritten.
func Fsck(ctx context.Context, env *cli.Env) error {
	var repair, asJSON bool
	args, err := env.Flags("fsck", fsckUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&repair, "repair", false, "finish half-recorded pushes and rebuild the notes")
		fs.BoolVar(&asJSON, "json", false, "findings as JSON on one line")
	})
	if err != nil {
		return err
	}
	repo, err := repository(ctx, env, args, fsckUsage)
	if err != nil {
		return err
	}
	batch := repo.Batch(ctx)
	f := &fsck{ctx: ctx, env: env, repo: repo, batch: batch, configs: []*config.Config{settingsOf(repo)}}
	defer func() { f.batch.Close() }()
	if err := f.run(repair); err != nil {
		return err
	}
	f.found = diag.Normalize(f.found)
	if asJSON {
		err = diag.WriteJSON(env.Stdout, map[string]any{"records": len(f.chain), "notes": f.notes, "unit_records": f.records, "verdicts": f.verdictCount, "repaired": f.repaired, "findings": f.found})
	} else {
		for _, line := range f.repaired {
			fmt.Fprintln(env.Stdout, "repaired: "+line)
		}
		diag.WriteText(env.Stdout, f.found)
		if f.records > 0 || f.verdictCount > 0 {
			fmt.Fprintf(env.Stdout, "%d records of units, %d verdicts\n", f.records, f.verdictCount)
		}
		fmt.Fprintf(env.Stdout, "%d records, %d notes, %d findings\n", len(f.chain), f.notes, len(f.found))
	}
	if err == nil && diag.HasErrors(f.found) {
		return cli.ErrFindings
	}
	return err
}

type fsck struct {
	ctx   context.Context
	env   *cli.Env
	repo  *git.Repo
	batch *git.Batch

	bare                  bool
	chain                 []link
	notes                 int
	records, verdictCount int
	claims                map[string]*uow.Record    // by their hash
	granted               map[string][]loop.Verdict // by unit and commit
	configs               []*config.Config          // today's, and those that the chain keeps
	found                 []diag.Diagnostic
	repaired              []string
}

// warn is report for what is named and needs no hurry.
func (f *fsck) warn(ref, rule, hint, format string, args ...any) {
	f.report(ref, rule, hint, format, args...)
	f.found[len(f.found)-1].Severity = diag.Warning
}

func (f *fsck) report(ref, rule, hint, format string, args ...any) {
	f.found = append(f.found, diag.Diagnostic{Ref: ref, Rule: rule, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (f *fsck) run(repair bool) error {
	if err := f.pending(repair); err != nil {
		return err
	}
	bare, err := f.repo.Output(f.ctx, "rev-parse", "--is-bare-repository")
	if err != nil {
		return err
	}
	f.bare = strings.TrimSpace(string(bare)) == "true"
	if err := f.read(); err != nil || len(f.chain) == 0 {
		return err
	}
	if f.bare {
		if err := f.tail(repair); err != nil {
			return err
		}
	}
	if repair {
		if err := f.setAside(); err != nil {
			return err
		}
	}
	f.settings()
	f.links()
	missing, err := f.index()
	if err != nil {
		return err
	}
	if repair && missing {
		if err := f.rebuild(); err != nil {
			return err
		}
	}
	if f.bare {
		if err := f.tips(); err != nil {
			return err
		}
	}
	return f.work()
}

// read reads the chain. One that git itself cannot walk ends the proof of the audit.
func (f *fsck) read() error {
	chain, err := readChain(f.ctx, f.repo, f.batch)
	if f.chain = chain; f.ctx.Err() != nil {
		return f.ctx.Err()
	}
	if err != nil {
		f.chain = nil
		f.report(audit.ChainRef, "fsck/chain", "restore refs/ward/audit from a clone that fetched it", "git cannot walk it: %v", err)
	} else if len(chain) == 0 {
		f.report(audit.ChainRef, "fsck/chain", "git ward init --bare DIR starts it", "there is no audit chain")
	}
	return nil
}
