package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/hookdir"
)

const logUsage = "log [-n N] [--refused] [--would] [--json] [--bare DIR]"

// Log is `git ward log`: the audit, newest push first, as a table or as one
// record a line. It reads the bare repository or a clone that fetched
// refs/ward/audit.
var Log = cli.Command{Name: "log", Doc: "show every push, refused ones too", Run: showLog,
	Examples: []cli.Example{{Line: `log -n 20`, Doc: "the newest twenty"}, {Line: `log --refused`, Doc: "refused pushes only"}}}

func showLog(ctx context.Context, env *cli.Env) error {
	var count int
	var bare string
	var refused, would, asJSON bool
	args, err := env.Flags("log", logUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &bare)
		fs.IntVar(&count, "n", 0, "show the newest `N` only")
		fs.BoolVar(&refused, "refused", false, "show refused pushes only")
		fs.BoolVar(&would, "would", false, "show only what [hooks] mode = \"observe\" let pass, and would have been refused")
		fs.BoolVar(&asJSON, "json", false, "one record a line")
	})
	if err != nil {
		return err
	}
	repo, err := repository(ctx, env, bare, args, logUsage)
	if err != nil {
		return err
	}
	if gone := hookdir.Gone(ctx, repo.Dir); gone != "" {
		fmt.Fprintf(env.Stderr, "git-ward: warning: %s\n", diag.Clean(gone))
	}
	place := env.Dir
	if bare != "" {
		place = env.Path(bare)
	} else if len(args) == 1 {
		place = env.Path(args[0])
	}
	if late := behind(ctx, place, repo); late != "" {
		fmt.Fprintf(env.Stderr, "git-ward: warning: %s\n", late)
	}
	defer env.Slow("reading the audit")()
	batch := repo.Batch(ctx)
	defer batch.Close()
	chain, err := audit.ReadChain(ctx, repo, batch)
	if err != nil {
		return err
	}
	if len(chain) == 0 {
		return diag.Hint(errors.New("this repository has no audit"), "git ward clone fetches it; in another clone: git fetch origin refs/ward/audit:refs/ward/audit")
	}
	chain = foldRepeats(repo, chain)
	if refused {
		chain = slices.DeleteFunc(chain, func(l audit.Link) bool { return l.Verdict != audit.Refused })
	}
	if would {
		chain = slices.DeleteFunc(chain, func(l audit.Link) bool { return len(l.Would) == 0 })
	}
	slices.Reverse(chain)
	if count > 0 {
		chain = chain[:min(count, len(chain))]
	}
	if asJSON {
		for _, l := range chain {
			if err := diag.WriteJSON(env.Stdout, l.Record); err != nil {
				return err
			}
		}
		return nil
	}
	return writeTable(env, chain)
}

// foldRepeats moves each count of unrecorded refusals from the record after them, where the
// chain stores it, to the one before; the newest count is still in a file.
func foldRepeats(repo *git.Repo, chain []audit.Link) []audit.Link {
	for i := range chain {
		copied := *chain[i].Record
		if i+1 < len(chain) {
			copied.Repeats, copied.Beyond = chain[i+1].Repeats, chain[i+1].Beyond
		} else { // a clone has no such files, and says nothing
			copied.Repeats, copied.Beyond = audit.Repeats(repo, chain[i].ID), audit.Beyond(repo, chain[i].ID)
		}
		chain[i].Record = &copied
	}
	return chain
}

func writeTable(env *cli.Env, chain []audit.Link) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PUSH\tTIME\tWHO\tVERDICT\tREF\tFROM..TO\tRULES")
	for _, l := range chain {
		writeRows(w, l)
	}
	return w.Flush()
}

// writeRows writes a record: a row for each ref; the first row has the rest.
func writeRows(w io.Writer, l audit.Link) {
	verdict := string(l.Verdict)
	if l.Repeats > 0 {
		verdict += fmt.Sprintf(" (and %d more times)", l.Repeats)
	}
	for _, who := range slices.Sorted(maps.Keys(l.Beyond)) {
		verdict += fmt.Sprintf(" (then %d more of %s, only counted)", l.Beyond[who], diag.Clean(who))
	}
	list := slices.Clone(l.Rules)
	if len(l.Would) > 0 { // they say the rules, too, with their places
		list = prefixed("would refuse ", l.Would)
	}
	rules := strings.Join(append(list, prefixed("allowed ", l.Allowed)...), " ")
	row := func(ref, move string) {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", l.ID, l.Time.Format(time.DateTime), who(l), verdict, ref, move, rules)
	}
	switch {
	case len(l.Refs) == 0 && l.Err != nil:
		row("(cannot be read: git ward fsck)", "-..-")
	case len(l.Refs) == 0:
		row("-", "-..-")
	}
	for i, ref := range l.Refs {
		name := strings.TrimPrefix(diag.Clean(ref.Ref), "refs/heads/")
		move := short(ref.Old) + ".." + short(ref.New)
		if i == 0 {
			row(name, move)
		} else {
			fmt.Fprintf(w, "\t\t\t\t%s\t%s\t\n", name, move)
		}
	}
	if l.Omitted != nil && l.Omitted.Refs > 0 {
		fmt.Fprintf(w, "\t\t\t\t(and %s more)\t\t\n", diag.Count(l.Omitted.Refs, "ref"))
	}
}

// who is the principal, and the name that the transport proved.
func who(l audit.Link) string {
	who := diag.Clean(l.Principal)
	if directive := l.Worker(); directive != "" {
		return who + ":" + directive
	}
	if l.Name != "" {
		who += " " + diag.Clean(l.Name)
	}
	if who == "" {
		return "-"
	}
	return who
}

func prefixed(prefix string, list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, prefix+diag.Clean(s))
	}
	return out
}

func short(id string) string {
	if id == git.Zero {
		return "-"
	}
	return diag.Short(id)
}
