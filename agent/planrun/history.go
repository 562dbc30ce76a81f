package planrun

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/fsm"
	"git-ward/protocols/plan"
	"git-ward/protocols/record"
)

// Trailers of a step's commit: which step, and the commit that its run began at.
const (
	TrailerStep  = record.TrailerStep
	TrailerRun   = "Ward-Run"
	trailerAgain = "Ward-Step-Again"

	// TrailerControl is in the commit of a plan on a record: it names the commit with the
	// registry that the plan uses while it runs.
	TrailerControl = "Ward-Control"
)

// done is a completed step's commit.
type done struct {
	id      string
	message string
	time    time.Time
	trees   trees // after the step
}

// resume finds the plan's newest run, and what it has done. Runs of another text, or from
// before Since, do not count.
func (u *run) resume(ctx context.Context) ([]done, error) {
	var err error
	if u.head, err = u.deps.Tree.Git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return nil, diag.Hint(errors.New("there is no commit to begin at"), "commit the plan first")
	}
	u.branch, _ = u.deps.Tree.Git(ctx, "symbolic-ref", "--quiet", "HEAD")
	u.base = u.head
	base, err := u.lastRun(ctx)
	if err != nil {
		return nil, err
	}
	u.batch = u.repo.Batch(ctx)
	if base != "" {
		steps, resumed, err := u.takenUp(ctx, base)
		if err != nil || resumed {
			return steps, err
		}
	}
	u.base = u.head
	u.lint, err = u.deps.lintOf(u.batch, trees{work: u.base}, "")
	return nil, err
}

// lastRun is the base of the plan's newest run, "" for none.
func (u *run) lastRun(ctx context.Context) (string, error) {
	if u.deps.Again && !u.intended() {
		return "", nil
	}
	revision := "HEAD"
	if u.deps.Since != "" {
		revision = u.deps.Since + "..HEAD"
	}
	// Other commits may mention a step in their text; only trailers count.
	for skip := 0; ; skip += pageSize {
		out, err := u.deps.Tree.Git(ctx, "log", "-z", fmt.Sprintf("--max-count=%d", pageSize), fmt.Sprintf("--skip=%d", skip), "--no-show-signature", "--no-notes",
			"--fixed-strings", "--grep="+TrailerStep+": "+u.path+"#", "--format=%B", revision, "--")
		if err != nil || out == "" {
			return "", err
		}
		for message := range strings.SplitSeq(out, "\x00") {
			if _, base, ok := u.stepOf(message); ok {
				return base, nil
			}
		}
	}
}

// pageSize is how many commits are asked for at once.
const pageSize = 20

// stepOf reads from a commit which step it is of, and where its run began.
func (u *run) stepOf(message string) (n int, base string, ok bool) {
	names, runs := git.Trailers(message, TrailerStep), git.Trailers(message, TrailerRun)
	if len(names) != 1 || len(runs) != 1 || !git.IsID(runs[0]) {
		return 0, "", false
	}
	number, ok := strings.CutPrefix(names[0], u.path+"#")
	n, err := strconv.Atoi(number)
	return n, runs[0], ok && err == nil
}

// sameText reports whether the plan is unchanged since a run.
func (u *run) sameText(ctx context.Context, base string) (bool, error) {
	batch := u.repo.Batch(ctx)
	defer batch.Close()
	var ids [2]string
	for i, commit := range []string{base, u.head} {
		o, err := batch.Info(commit + ":" + u.path)
		if errors.Is(err, git.ErrMissing) {
			continue
		}
		if err != nil {
			return false, err
		}
		ids[i] = o.ID
	}
	return ids[0] == ids[1] && ids[0] != "", nil
}

// steps are the run's commits, in order.
func (u *run) steps(ctx context.Context) ([]done, error) {
	out, err := u.deps.Tree.Git(ctx, "log", "-z", "--no-show-signature", "--no-notes", "--format=%H%n%ct%n%B", u.base+"..HEAD", "--")
	if err != nil {
		return nil, err
	}
	byNumber := map[int]done{}
	for entry := range strings.SplitSeq(out, "\x00") {
		id, rest, _ := strings.Cut(strings.TrimPrefix(entry, "\n"), "\n")
		seconds, message, _ := strings.Cut(rest, "\n")
		n, base, ok := u.stepOf(message)
		if !ok || base != u.base {
			continue
		}
		at, _ := strconv.ParseInt(seconds, 10, 64)
		byNumber[n] = done{id, body(message), time.Unix(at, 0), trees{work: id}}
	}
	return u.inOrder(byNumber)
}

// inOrder is the steps by number; none may be missing.
func (u *run) inOrder(byNumber map[int]done) ([]done, error) {
	u.fillPhases(byNumber)
	list := make([]done, len(byNumber))
	for n, d := range byNumber {
		if n < 1 || n > len(list) {
			return nil, diag.Hint(fmt.Errorf("the history of %s lacks the commit of a step before %s", u.path, u.name(n)), "the branch was rewritten: run the plan --again")
		}
		list[n-1] = d
	}
	return list, nil
}

// fillPhases gives a research phase's steps the commit of the phase's last step.
func (u *run) fillPhases(byNumber map[int]done) {
	if p, err := u.lint.Plan(u.path); err != nil || p == nil || p.Machine() != fsm.Research {
		return
	}
	last := 0
	for n := range byNumber {
		last = max(last, n)
	}
	if last > maxExecuted {
		return
	}
	for n := last - 1; n >= 1; n-- {
		if _, ok := byNumber[n]; !ok {
			byNumber[n] = byNumber[n+1]
		}
	}
}

// body is a commit message without its subject and trailers.
func body(message string) string {
	_, rest, _ := strings.Cut(strings.TrimSpace(message), "\n\n")
	at := strings.LastIndex("\n\n"+rest, "\n\n")
	return strings.TrimSpace(("\n\n" + rest)[:at])
}

// replay walks the cursor over the done steps, and writes the last one's log line if a crash
// prevented it.
func (u *run) replay(ctx context.Context, steps []done) error {
	p, err := u.lint.Plan(u.path)
	if err != nil {
		return err
	}
	u.cursor = &cursor{plans: u.callee}
	u.cursor.start(u.path, p)
	u.phased = p.Machine() == fsm.Research
	var walked []point
	for i, d := range steps {
		u.cursor.files = func(glob string) ([]string, error) { return u.matching(ctx, d.trees, glob) }
		at, ok := u.cursor.next()
		if !ok {
			return fmt.Errorf("%s has %d steps, but the history says that %d are done", u.path, u.cursor.n, len(steps))
		}
		if i == len(steps)-1 {
			if err := u.complete(at, d); err != nil {
				return err
			}
		}
		if err := u.cursor.enter(at); err != nil {
			return err
		}
		walked = append(walked, at)
	}
	if n := len(walked); n > 0 && !u.ends(walked[n-1]) {
		for _, p := range walked {
			if err := u.again(ctx, p); err != nil {
				return err
			}
		}
	}
	u.cursor.files = func(glob string) ([]string, error) { return u.matching(ctx, u.now(), glob) }
	return nil
}

// now is the trees after the last step.
func (u *run) now() trees {
	if r := u.deps.Record; r != nil {
		return trees{work: u.head, record: r.Tip()}
	}
	return trees{work: u.head}
}

// complete logs a step that was committed but not logged.
func (u *run) complete(p point, d done) error {
	has, err := u.deps.Log.Has(u.logID(p.n, ""))
	if err == nil && has {
		has, err = u.deps.Log.Has(u.logID(p.n, "end"))
		has = has || !u.ends(p)
	}
	if has || err != nil {
		return err
	}
	return u.record(p, d.message, d.time)
}

// matching lists a commit's files that a glob matches, the record's only if it names them.
// Links and submodules are excluded, because no step can read or write one.
func (u *run) matching(ctx context.Context, t trees, glob string) ([]string, error) {
	commit, prefix := t.work, ""
	if worktree.InRecord(glob) {
		if commit, prefix = t.record, worktree.RecordDir+"/"; commit == "" {
			return nil, nil
		}
	}
	out, err := u.deps.Tree.Git(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return nil, err
	}
	var files []string
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if mode, path, _ := strings.Cut(line, "\t"); strings.HasPrefix(mode, "100") {
			files = append(files, prefix+path)
		}
	}
	return match(glob, files), nil
}

// callee is the plan of a registered name; nil for a program.
func (u *run) callee(name string) (string, *plan.Plan, error) {
	path, err := u.lint.Resolve(name)
	if err != nil || strings.HasSuffix(path, ".udc") {
		return path, nil, err
	}
	p, err := u.lint.Plan(path)
	if err == nil && p == nil {
		err = fmt.Errorf("there is no plan %s", path)
	}
	return path, p, err
}
