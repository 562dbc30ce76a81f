package verifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/shellword"
	"git-ward/sandbox/verifier/mutant"
)

// Against says what a claim's rung requires besides plain runs (LOOP-11): runs whose result
// would differ if the commands had passed by chance, or because of leftover files.
type Against struct {
	// Second, if any, runs commands in another image; without it they run once more without the
	// products of earlier builds.
	Second Runner
	// Time is how long mutants are tried, all together.
	Time time.Duration
}

// AgainstRun is one more run of all commands, by its kind in a verdict.
type AgainstRun struct {
	Kind string `json:"kind"`
	Runs []Run  `json:"runs"`
}

// Mutants has the results of changes to the claim's own lines.
type Mutants struct {
	Made     int      `json:"made"` // those that compile and were tried
	Killed   int      `json:"killed"`
	Survived []string `json:"survived"` // path:line: what was changed
}

// The kinds of runs, as verdicts have them.
const (
	Shuffled    = "shuffled"
	Cold        = "cold"
	SecondImage = "second_image"
)

// ColdVar in a command's environment makes Setup leave out the products of earlier builds.
const ColdVar = "WARD_COLD"

// against runs the claim's commands against the work, after they held.
func (t *trying) against(ctx context.Context, f *Facts, tree string) error {
	isGo, err := hasGo(ctx, t.repo, t.claim.Base)
	if err != nil {
		return err
	}
	more := func(kind string, r Runner, env map[string]string) error {
		runs, err := t.run(ctx, r, tree, Step{Note: kind}, Job{Env: env})
		f.Against = append(f.Against, AgainstRun{kind, runs})
		return err
	}
	if isGo {
		// go test reads it from here, whatever starts it; other go commands ignore it.
		if err := more(Shuffled, t.runner, map[string]string{"GOFLAGS": "-shuffle=on"}); err != nil {
			return err
		}
	} else {
		f.NotDone = append(f.NotDone, "tests in another order: there is no go.mod, and of other tools no order is known")
	}
	if second := t.claim.Against.Second; second != nil {
		if err := t.inSecond(ctx, f, second, tree, more); err != nil {
			return err
		}
	} else if err := more(Cold, t.runner, map[string]string{ColdVar: "1"}); err != nil {
		return err
	}
	if err := t.surfaces(ctx, f, tree); err != nil {
		return err
	}
	return t.mutate(ctx, f, tree)
}

// inSecond adds the run in another image. Where a program is missing there, the run counts for nothing.
func (t *trying) inSecond(ctx context.Context, f *Facts, second Runner, tree string, more func(string, Runner, map[string]string) error) error {
	if err := more(SecondImage, second, nil); err != nil {
		return err
	}
	last := len(f.Against) - 1
	m, err := t.missing(ctx, second, tree, f.Against[last].Runs)
	if m != nil {
		f.Against = f.Against[:last]
		f.NotDone = append(f.NotDone, fmt.Sprintf("the second image: %s is not in it", m.Tool))
	}
	return err
}

// hasGo reports whether a commit has Go that go test would run.
func hasGo(ctx context.Context, repo *git.Repo, commit string) (bool, error) {
	out, err := repo.Output(ctx, "ls-tree", "-r", "--name-only", "-z", "--full-tree", commit)
	for name := range strings.SplitSeq(string(out), "\x00") {
		if path.Base(name) == "go.mod" {
			return true, err
		}
	}
	return false, err
}

const (
	maxMutants = 200
	maxSource  = 1 << 20  // bytes of a file that is mutated
	maxSources = 64 << 20 // bytes of all of them
	// notViable is the exit code for a mutant that does not compile. A program may exit with it, too:
	// the number is only counted.
	notViable = 86
)

// mutation is a mutant with its file.
type mutation struct {
	path, mode string
	mutant.Mutant
}

// mutate changes the claim's own Go lines, one at a time. Commands that still hold do not test that
// line.
func (t *trying) mutate(ctx context.Context, f *Facts, tree string) error {
	claim := t.claim
	all, isGo, err := mutations(ctx, t.repo, claim, tree)
	if err != nil {
		return err
	}
	if !isGo {
		f.NotDone = append(f.NotDone, "mutants: no line of Go was changed, and of other languages none are made")
		return nil
	}
	picked := mutant.Pick(all, maxMutants)
	f.Mutants = &Mutants{Survived: []string{}}
	end := time.Now().Add(claim.Against.Time)
	for i, m := range picked {
		if time.Now().After(end) {
			f.NotDone = append(f.NotDone, fmt.Sprintf("%d of %d mutants, for which [verify] timeout was too short", len(picked)-i, len(picked)))
			break
		}
		claim.tell(Step{Command: Command{Name: fmt.Sprintf("mutant %d of %d", i+1, len(picked)), Line: fmt.Sprintf("%s:%d: %s", m.path, m.Line, m.Words)}})
		if err := t.try(ctx, f, tree, m); err != nil {
			return err
		}
	}
	return nil
}

// try runs the commands on one mutant until one of them notices it.
func (t *trying) try(ctx context.Context, f *Facts, tree string, m mutation) error {
	blob, err := t.repo.WriteObject("blob", m.Text())
	if err != nil {
		return err
	}
	changed, err := writeTree(ctx, t.repo, tree, map[string]string{m.path: m.mode + " " + blob})
	if err != nil {
		return err
	}
	job, err := t.judged.job(ctx, changed)
	if err != nil {
		return err
	}
	defer t.judged.drop(changed)
	check := fmt.Sprintf("(cd %s && go build -o /dev/null .) >/dev/null 2>&1 || exit %d\n", shellword.Quote("./"+path.Dir(m.path)), notViable)
	for i, r := range f.Replays[0] {
		if r.Held { // that it notices a change would say what it asks for
			continue
		}
		job.Line, job.Next = check+r.Line, true
		o, err := t.soon(ctx, job, r.Time)
		switch {
		case err != nil:
			return fmt.Errorf("a mutant cannot be tried: %w", err)
		case i == 0 && o.End == Exited && o.Exit == notViable:
			return nil
		case !o.OK():
			f.Mutants.Made++
			f.Mutants.Killed++
			return nil
		}
	}
	f.Mutants.Made++
	f.Mutants.Survived = append(f.Mutants.Survived, fmt.Sprintf("%s:%d: %s", m.path, m.Line, m.Words))
	return nil
}

// soon runs a job whose text was changed, so that it may never end: it is over after ten
// times as long as it took before.
func (t *trying) soon(ctx context.Context, job Job, before time.Duration) (Outcome, error) {
	limited, cancel := context.WithTimeout(ctx, max(time.Minute, 10*before))
	defer cancel()
	o, err := t.runner.Run(limited, job)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return Outcome{End: TimedOut, Exit: 128 + int(syscall.SIGKILL)}, nil
	}
	return o, err
}

// mutations lists mutants of the Go lines in which a tree differs from the claim's base, except those
// of tests and those beyond the bounds. isGo is false where there is no such line.
func mutations(ctx context.Context, repo *git.Repo, claim *Claim, tree string) (all []mutation, isGo bool, err error) {
	files, err := goFiles(ctx, repo, claim.Base, tree, "--diff-filter=AM")
	if err != nil {
		return nil, false, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	size := 0
	for _, file := range files {
		if !strings.HasPrefix(file.modes[1], "100") {
			continue
		}
		isGo = true
		_, src, err := batch.Read(file.ids[1], maxSource)
		if _, ok := errors.AsType[*git.TooLarge](err); ok || size+len(src) > maxSources {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		size += len(src)
		lines := map[int]bool{}
		if file.ids[0] != git.Zero {
			if lines, err = changedLines(ctx, repo, file.ids[0], file.ids[1]); err != nil {
				return nil, false, err
			}
		}
		of := mutant.Of(src, func(line int) bool { return file.ids[0] == git.Zero || lines[line] })
		for _, m := range mutant.Pick(of, maxMutants) {
			all = append(all, mutation{file.path, file.modes[1], m})
		}
	}
	return all, isGo, nil
}

// goFile is a Go file, but no test, in which two trees differ: its modes and blobs before and now,
// git.Zero for none.
type goFile struct {
	path       string
	modes, ids [2]string
}

// goFiles lists those in which two trees differ.
func goFiles(ctx context.Context, repo *git.Repo, base, tree string, options ...string) (files []goFile, err error) {
	// Ids and modes first, so that odd names are read as they are.
	args := slices.Concat([]string{"diff-tree", "-r", "-z", "--no-renames"}, options, []string{base, tree})
	raw, err := repo.Output(ctx, args...)
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(raw), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		meta, name := strings.Fields(strings.TrimPrefix(fields[i], ":")), fields[i+1]
		if len(meta) == 5 && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files = append(files, goFile{name, [2]string{meta[0], meta[1]}, [2]string{meta[2], meta[3]}})
		}
	}
	return files, nil
}

// changedLines lists the lines of one blob that another lacks.
func changedLines(ctx context.Context, repo *git.Repo, before, now string) (map[int]bool, error) {
	out, err := repo.Output(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=0", before, now)
	if err != nil {
		return nil, err
	}
	lines := map[int]bool{}
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) < 3 || fields[0] != "@@" {
			continue
		}
		start, count, hasCount := strings.Cut(strings.TrimPrefix(fields[2], "+"), ",")
		from, err := strconv.Atoi(start)
		n := 1
		if hasCount && err == nil {
			n, err = strconv.Atoi(count)
		}
		if err != nil {
			return nil, fmt.Errorf("git diff: unexpected answer %.80q", line)
		}
		for i := range n {
			lines[from+i] = true
		}
	}
	return lines, nil
}
