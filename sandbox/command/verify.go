package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/export"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/loop"
	"git-ward/protocols/state"
	"git-ward/sandbox/judge"
	"git-ward/sandbox/launch"
	"git-ward/sandbox/verifier"
)

const verifyUsage = "verify [--bare DIR] [--main REV] [--replays N] [--unfenced] [--json] [--format FORMAT] COMMIT (D-n | --run LINE ...)"

// verifyOptions are the arguments of `git ward verify`.
type verifyOptions struct {
	bare, main, commit string
	directive          string   // its name, "" where there are lines
	lines              []string // for the shell
	replays            int      // 0: by the directive's rung
	unfenced           bool
	format             export.Format
}

// verify is `git ward verify`: it runs a directive's commands, or given shell lines, on a
// clean checkout of a commit as the launcher does for a claim, and reports the results. It
// records nothing, because only the launcher gives verdicts.
func verify(ctx context.Context, env *cli.Env) error {
	o, err := parseVerify(env)
	if err != nil {
		return err
	}
	if o.bare, err = hosted(ctx, env, o.bare); err != nil {
		return err
	}
	facts, err := o.facts(ctx, env)
	if err != nil {
		return err
	}
	switch {
	case o.format.Foreign():
		err = writeFacts(env.Stdout, facts, o.format)
	case o.format == export.JSON:
		err = diag.WriteJSON(env.Stdout, facts)
	default:
		printFacts(env.Stdout, facts)
	}
	if err != nil {
		return err
	}
	return foundIf(!facts.OK() || len(facts.Deviations) > 0)
}

func parseVerify(env *cli.Env) (o verifyOptions, err error) {
	args, err := env.Flags("verify", verifyUsage, func(fs *flag.FlagSet) {
		cli.Bare(fs, &o.bare)
		fs.StringVar(&o.main, "main", "", "the `REV` of the project's branch that the commit is held against; default: its tip")
		fs.IntVar(&o.replays, "replays", 0, "run all of it `N` times; default: as the directive's rung wants")
		fs.Func("run", "a `LINE` for the shell, in a directive's place; may be repeated", func(line string) error {
			o.lines = append(o.lines, line)
			return nil
		})
		fs.BoolVar(&o.unfenced, "unfenced", false, "plain processes, without any confinement")
		o.format.Flags(fs)
	})
	if err != nil {
		return o, err
	}
	wanted := 2 // a commit and a directive
	if len(o.lines) > 0 {
		wanted = 1
	}
	if len(args) != wanted {
		return o, env.Usage(verifyUsage, "a commit and what to run on it are needed")
	}
	if o.commit = args[0]; wanted == 2 {
		o.directive = args[1]
	}
	return o, nil
}

// facts runs the commands. A commit that cannot be judged is a fact, too.
func (o *verifyOptions) facts(ctx context.Context, env *cli.Env) (*verifier.Facts, error) {
	bare, settings, err := launch.OpenRepository(ctx, env.Path(o.bare))
	if err != nil {
		return nil, err
	}
	spec := launch.Spec{Bare: bare, Settings: settings, Podman: podmanOf(env), Unfenced: o.unfenced, Messages: env.Stderr}
	v, err := spec.Verifier(ctx)
	if err != nil {
		return nil, err
	}
	claim, err := o.claim(ctx, git.Open(bare), settings)
	var facts *verifier.Facts
	if err == nil {
		people := env.Stderr
		if o.format != export.Text { // a program reads only the final answer
			people = io.Discard
		}
		progress := newProgress(people, progressDelay)
		claim.Progress = progress.step
		facts, err = v.Verify(ctx, claim)
		progress.end()
	}
	if unfit, ok := errors.AsType[*verifier.Unfit](err); ok {
		return &verifier.Facts{Commit: claim.Commit, Main: claim.Main, Unfit: unfit.Why}, nil
	}
	return facts, err
}

// claim is what to run: a directive of the control branch by its name, or shell lines. With a
// *verifier.Unfit its commits are set.
func (o *verifyOptions) claim(ctx context.Context, repo *git.Repo, settings *config.Config) (c verifier.Claim, err error) {
	commit, err := repo.Commit(ctx, o.commit)
	if err != nil {
		return c, err
	}
	heads, err := judge.ReadHeads(ctx, repo, settings.Control)
	if err != nil {
		return c, err
	}
	if o.main != "" {
		if heads.Project, err = repo.Commit(ctx, o.main); err != nil {
			return c, err
		}
		if !settings.Control.Split() {
			heads.Control = heads.Project
		}
	}
	main := heads.Project
	if o.directive != "" {
		d, err := directive(ctx, repo, heads.Control, o.directive)
		if err != nil {
			return c, err
		}
		c = judge.ClaimOf(d, settings, commit, main)
		c.Replays = cmp.Or(max(o.replays, 0), c.Replays)
		if c.Base, err = judge.Base(ctx, repo, c, heads, d); err != nil {
			return c, err
		}
		reader := repo.Reader(ctx)
		defer reader.Close()
		unit, err := state.Newest(reader, d.Name(), 0)
		if unit != nil && err == nil {
			c.Base, err = judge.NotBefore(ctx, repo, settings.Control, c, unit.ID.String())
		}
		return c, err
	}
	c = verifier.Claim{Commit: commit, Main: main, Pinned: settings.Verify.Pinned, Work: settings.Verify.Work, Replays: max(o.replays, 1), Bounds: judge.Bounds(settings), Controls: settings.Verify.Controls}
	for i, line := range o.lines {
		c.Commands = append(c.Commands, verifier.Command{Name: fmt.Sprintf("line %d", i+1), Line: line})
	}
	return c, nil
}

// directive finds a directive by its name in a commit's COMMS.md, and wants it to have a
// command.
func directive(ctx context.Context, repo *git.Repo, commit, name string) (*comms.Directive, error) {
	reader := repo.Reader(ctx)
	defer reader.Close()
	doc, err := state.ReadComms(reader, commit)
	if err != nil {
		return nil, err
	}
	d := doc.Directive(name)
	if d == nil {
		return nil, fmt.Errorf("%.12s:%s has no directive %s", commit, comms.Path, diag.Clean(name))
	}
	if len(judge.ClaimOf(d, &config.Config{}, "", "").Commands) == 0 {
		return nil, diag.Hint(fmt.Errorf("%s has no command to run", name), "a criterion ends in its command: "+comms.ExampleCriterion)
	}
	return d, nil
}

// printFacts prints each command's result, and the last lines of those that failed.
func printFacts(w io.Writer, f *verifier.Facts) {
	if f.Unfit != "" {
		fmt.Fprintf(w, "%.12s cannot be judged: %s\n", f.Commit, diag.Clean(f.Unfit))
		return
	}
	for _, l := range f.Left {
		fmt.Fprintf(w, "left out: %s (%s; not work, so main's version decides)\n", diag.Clean(l.Path), l.Kind)
	}
	for _, path := range f.Included {
		fmt.Fprintf(w, "included: %s\n", diag.Clean(path))
	}
	for _, d := range f.Deviations {
		fmt.Fprintf(w, "put back: %s (%s)\n", diag.Clean(d.Path), d.Kind)
	}
	for i, runs := range f.Replays {
		printRuns(w, fmt.Sprintf("run %d", i+1), runs)
	}
	if f.With != nil {
		printRuns(w, "all", f.With)
	}
	for _, c := range f.Controls {
		fmt.Fprintf(w, "%-12s control  %s\n", c.Name, loop.ControlWords(c.Says, c.Before))
	}
	for _, d := range (loop.Verdict{Observed: f.Observed.Written(diag.Clean, diag.Clean)}).Against() {
		for _, line := range d.Lines() {
			fmt.Fprintln(w, line)
		}
	}
	if f.Comparisons > 0 {
		fmt.Fprintf(w, "%d of %s tried with another value\n", f.Asked, diag.Count(f.Comparisons, "comparison"))
	}
	for _, path := range f.NeverOpened {
		fmt.Fprintf(w, "opened by no command: %s\n", diag.Clean(path))
	}
	if f.NotObserved != "" {
		fmt.Fprintf(w, "which changed files were opened is not known: %s\n", diag.Clean(f.NotObserved))
	}
	printAgainst(w, f)
	if f.Cache != "" {
		fmt.Fprintf(w, "dependencies from the cache: %s\n", diag.Clean(f.Cache))
	}
	if f.Missing != nil {
		fmt.Fprintln(w, judge.MissingTool(f.Missing, f.Image).Words())
	}
	if f.Base != f.Main {
		fmt.Fprintf(w, "files that are not work are as in %.12s, where the work left main\n", f.Base)
	}
	fence := "fence: none"
	if f.Image != "" {
		fence = f.Fence + ", in " + f.Image
	}
	fmt.Fprintf(w, "these commands ended in this way on %.12s, %s; code can still cheat its own tests\n", f.Commit, fence)
}

// printAgainst prints a rung's further runs, and the mutants that no command noticed.
func printAgainst(w io.Writer, f *verifier.Facts) {
	for _, a := range f.Against {
		printRuns(w, a.Kind, a.Runs)
	}
	if m := f.Mutants; m != nil {
		fmt.Fprintf(w, "of %s to the work's own lines, the commands noticed %d\n", diag.Count(m.Made, "small change"), m.Killed)
		for _, s := range m.Survived {
			fmt.Fprintf(w, "    not noticed: %s\n", diag.Clean(s))
		}
	}
	if s := f.Surface; s != nil {
		fmt.Fprintf(w, "the interface lost %s and gained %d\n", diag.Count(len(s.Gone), "declaration"), len(s.New))
		for _, line := range s.Gone {
			fmt.Fprintf(w, "    gone: %s\n", diag.Clean(line))
		}
	}
	for _, what := range f.NotDone {
		fmt.Fprintf(w, "not done: %s\n", diag.Clean(what))
	}
}

// printRuns prints one run of all commands.
func printRuns(w io.Writer, name string, runs []verifier.Run) {
	for _, r := range runs {
		word := "ok"
		if !r.OK() {
			word = fmt.Sprintf("%s %d", r.End, r.Exit)
		}
		fmt.Fprintf(w, "%-12s %s  %-10s %8v  %s\n", r.Name, name, word, r.Time.Round(time.Millisecond), diag.Clean(r.Line))
		if !r.OK() {
			printTail(w, r.Tail)
		}
	}
}

// shownLines is how many lines of a failed command's output are printed.
const shownLines = 10

func printTail(w io.Writer, tail string) {
	lines := strings.Split(strings.TrimRight(tail, "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-shownLines):] {
		fmt.Fprintf(w, "    %s\n", diag.Clean(line))
	}
}
