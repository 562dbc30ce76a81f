package verifier

import (
	"cmp"
	"context"
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

// Processes runs commands as plain processes in scratch clones: nothing contains
// them, and the verdict says so (SBX-8).
type Processes struct {
	Limits Limits
	User   *syscall.Credential // nil: this process's own
}

// Fence says that there is none.
func (p *Processes) Fence() (fence, image string) { return "none", "" }

// Run clones, checks out and runs.
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
	for _, name := range slices.Sorted(maps.Keys(job.Env)) {
		env = append(env, name+"="+job.Env[name])
	}
	if !job.watched() {
		return p.run(ctx, work, env, job)
	}
	root, err := os.OpenFile(work, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return Outcome{}, err
	}
	observe := watch(root, job)
	o, err := p.run(ctx, work, env, job)
	o.Opened = observe()
	return o, err
}

// watched reports whether anything of a job's checkout is watched.
func (j *Job) watched() bool { return len(j.Watch)+len(j.Kept) > 0 }

// watch observes a job's checkout from before it runs; end says what became of its files.
func watch(root *os.File, job Job) (end func() *Watched) {
	var kept *opened.Watch
	fd, err := unix.FcntlInt(root.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		kept, err = opened.BeginKept(os.NewFile(uintptr(fd), root.Name()), job.Kept)
	}
	files, notFiles := opened.Begin(root, job.Watch, []string{filepath.Join(job.Repo, "objects/pack")})
	return func() *Watched {
		o := unobserved(job, cmp.Or(notFiles, err))
		if notFiles == nil {
			files, lost := files.End()
			if o.Files = files; lost != nil {
				o.Not = lost.Error()
			}
		}
		if err == nil {
			if o.Rewritten, err = kept.End(); err != nil {
				o.Rewritten, o.NotKept = nil, err.Error()
			}
		}
		return o
	}
}

// unobserved is what is known where nothing was watched, nil where there was nothing to watch.
func unobserved(job Job, why error) *Watched {
	if !job.watched() {
		return nil
	}
	o := &Watched{Files: job.Watch}
	if why != nil {
		o.Not = why.Error()
	}
	return o
}

// run runs the line in a checkout, within the limits, and ends what it leaves behind.
func (p *Processes) run(ctx context.Context, dir string, env []string, job Job) (Outcome, error) {
	limited, cancel := context.WithTimeout(ctx, p.Limits.Time)
	defer cancel()
	out := newOutput(p.Limits.Output, job.Keep, cancel)
	job.Live.show(out)
	c := process.Command{
		Args: []string{"sh", "-c", job.Line}, Dir: dir, Env: env,
		Stdout: stream{out, true}, Stderr: stream{out, false}, DieWithThread: true,
		User: p.User,
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

// ended says how a command ended, when its time and its output are known.
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

// checkoutScript makes a clean checkout: $1 the repository, $2 the directory, $3 the
// commit. Nothing of the repository's own settings or hooks counts. It starts two git
// processes, where a clone starts five: that is most of what a short command costs.
const checkoutScript = `set -e
git init --quiet --template= "$2"
cd "$2"
printf 'ref: refs/heads/main\n' >.git/HEAD
printf '[core]\n\thooksPath = /dev/null\n' >>.git/config
printf '%s/objects\n' "$1" >.git/objects/info/alternates
git reset --quiet --hard "$3"`
