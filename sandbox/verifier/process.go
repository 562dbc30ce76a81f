package verifier

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
	"git-ward/internal/scratch"
	"git-ward/sandbox/verifier/opened"
)

// Limits bound one command.
type Limits struct {
	Time   time.Duration
	Output int64 // bytes, both streams together
}

// Processes runs commands as plain processes in scratch checkouts: they are unfenced, and the verdict
// says so (SBX-8).
type Processes struct {
	Limits Limits
	// Mark, NAME=value, is in the environment of each process, so that the next launch can end those of
	// a killed one; "" for none.
	Mark   string
	Places *Places // the launch's, or those of one verification
}

// Fence says that there is no fence.
func (p *Processes) Fence() (fence, image string) { return "none", "" }

// Run checks out and runs.
func (p *Processes) Run(ctx context.Context, job Job) (Outcome, error) {
	made, err := scratch.Make("", "verify-")
	if err != nil {
		return Outcome{}, err
	}
	defer made.Remove()
	dir := made.Path
	work := filepath.Join(dir, "work")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	prepare := exec.CommandContext(ctx, "sh", "-c", checkoutScript, "checkout", job.Repo, work, job.Commit)
	prepare.Env = env
	if said, err := prepare.CombinedOutput(); err != nil {
		return Outcome{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said)))
	}
	if p.Mark != "" {
		env = append(env, p.Mark)
	}
	for _, name := range slices.Sorted(maps.Keys(job.Env)) {
		env = append(env, name+"="+job.Env[name])
	}
	if !job.watched() {
		return p.inTurn(ctx, dir, env, job)
	}
	root, err := os.OpenFile(work, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return Outcome{}, err
	}
	observe := watch(root, job)
	o, err := p.inTurn(ctx, dir, env, job)
	o.Opened = observe()
	return o, err
}

// inTurn runs the line in the checkout of a directory, isolated from other commands if this machine can
// do that.
func (p *Processes) inTurn(ctx context.Context, dir string, env []string, job Job) (Outcome, error) {
	work := filepath.Join(dir, "work")
	if p.Shared() != "" {
		return unstopped(ctx, func(ctx context.Context) (Outcome, error) { return p.Limits.run(ctx, nil, work, env, job, nil) })
	}
	if err := p.Places.ownPlaces(dir); err != nil {
		return Outcome{}, err
	}
	begun, err := beginning()
	if err != nil {
		return Outcome{}, err
	}
	o, err := p.Limits.run(ctx, nil, work, env, job, []*os.File{begun.said}, p.apart(dir)...)
	if made := begun.check(); err == nil && o.End == Exited && made != nil {
		err = fmt.Errorf("%w: %s", made, o.Last())
	}
	return o, err
}

// watched reports whether anything of a job's checkout is watched.
func (j *Job) watched() bool { return len(j.Watch)+len(j.Guard)+len(j.Checks) > 0 }

// watch observes a job's checkout from before it runs. end returns what was opened and written to.
func watch(root *os.File, job Job) (end func() *Watched) {
	defer root.Close()
	files := begin(root, job.Watch, func(root *os.File) (*opened.Watch, error) {
		return opened.Begin(root, job.Watch, []string{filepath.Join(job.Repo, "objects/pack")})
	})
	written := begin(root, job.Guard, func(root *os.File) (*opened.Watch, error) {
		return opened.BeginWritten(root, job.Guard)
	})
	checks := begin(root, job.Checks, func(root *os.File) (*opened.Watch, error) {
		return opened.Begin(root, job.Checks, nil)
	})
	return func() *Watched {
		o := &Watched{}
		o.Files, o.Not = files()
		o.Checks, o.ChecksNot = checks()
		o.Rewritten, o.RewrittenNot = written()
		if o.RewrittenNot != "" { // all of them may have been, and no list says more
			o.Rewritten = nil
		}
		return o
	}
}

// begin begins a watch of some files. end returns which of them it saw, and why it may have been all.
func begin(root *os.File, files []string, by func(root *os.File) (*opened.Watch, error)) (end func() ([]string, string)) {
	if len(files) == 0 {
		return func() ([]string, string) { return nil, "" }
	}
	var w *opened.Watch
	fd, err := unix.FcntlInt(root.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		w, err = by(os.NewFile(uintptr(fd), root.Name()))
	}
	if err != nil {
		return func() ([]string, string) { return files, err.Error() }
	}
	return func() ([]string, string) {
		seen, err := w.End()
		if err != nil {
			return seen, err.Error()
		}
		return seen, ""
	}
}

// unobserved is the result where files cannot be observed from outside, which no work can cause; nil if
// there was nothing to watch.
func unobserved(job Job, why error) *Watched {
	if !job.watched() {
		return nil
	}
	return &Watched{Files: job.Watch, Not: why.Error(), Checks: job.Checks}
}

// run runs the line in a checkout, within the limits, and ends the processes that it leaves. user is nil
// for this process's own. within is the command that starts it, if any.
func (l Limits) run(ctx context.Context, user *syscall.Credential, dir string, env []string, job Job, files []*os.File, within ...string) (Outcome, error) {
	limited, cancel := context.WithTimeout(ctx, l.Time)
	defer cancel()
	out := newOutput(l.Output, job.Keep, cancel)
	job.Live.show(out)
	c := process.Command{
		Args: append(within, "sh", "-c", job.Line), Dir: dir, Env: env,
		Stdout: stream{out, true}, Stderr: stream{out, false}, DieWithThread: true, Files: files,
		User: user, Tag: "WARD_RUN=" + rand.Text(), // what left its group ends, too
	}
	start := time.Now()
	status, _, err := c.Run(limited)
	if ctx.Err() != nil {
		return Outcome{}, context.Cause(ctx)
	}
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Exit: status.Code(), Time: time.Since(start)}
	o.ended(limited, out)
	return o, nil
}

// ended sets how a command ended, from its time and its output.
func (o *Outcome) ended(limited context.Context, out *output) {
	o.End = Exited
	switch {
	case out.flooded():
		o.End = Flooded
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		o.End = TimedOut
	}
	if o.End != Exited && o.Exit < 128 {
		o.Exit = 128 + int(syscall.SIGKILL)
	}
	out.fill(o)
}

// checkoutScript makes a clean checkout: $1 the repository, $2 the directory, $3 the commit. It ignores
// the repository's own settings and hooks. The result is that of 'git clone --shared' from a repository
// with one branch, main, and a detached HEAD, except that origin is the checkout itself. It writes the
// five lines and the directories of git init by hand, because a clone starts five git processes instead
// of one, which takes longer than many a command.
const checkoutScript = `set -e
mkdir -p "$2/.git/hooks" "$2/.git/info" "$2/.git/objects/info" "$2/.git/objects/pack" "$2/.git/refs/heads" "$2/.git/refs/tags" "$2/.git/refs/remotes/origin"
cd "$2"
printf '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\thooksPath = /dev/null\n[remote "origin"]\n\turl = .\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n' >.git/config
printf '%s/objects\n' "$1" >.git/objects/info/alternates
for ref in HEAD refs/heads/main refs/remotes/origin/main; do printf '%s\n' "$3" >".git/$ref"; done
git reset --quiet --hard "$3"`
