package verifier

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
)

// User runs commands as another user in this process's own container, which is the fence (MANY-3). All
// that a command leaves, processes, files and System V IPC objects, is removed before the next. This
// process may become that user and end its processes (CAP_SETUID, CAP_SETGID, CAP_KILL), and does not
// pass these capabilities on.
type User struct {
	ID     int // user and group
	Limits Limits
	Image  string
}

// Fence names the fence.
func (u *User) Fence() (fence, image string) { return "kube", u.Image }

// leftovers are the directories that a command can write to.
const leftovers = `/tmp /bot /var/tmp /dev/shm`

// Run checks out and runs, as that user.
func (u *User) Run(ctx context.Context, job Job) (o Outcome, err error) {
	if err := queuesOutlast(); err != nil {
		return o, err
	}
	dir := filepath.Join("/tmp", "ward-verify-"+rand.Text())
	defer func() { err = errors.Join(err, u.clean(ctx)) }()
	env := []string{"PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
	// The repository belongs to another user, which git would refuse. The process that watches the
	// checkout is another user's, too, so that the umask lets it in.
	prepare := `umask 022; mkdir "$HOME"; printf '[safe]\n\tdirectory = *\n' >"$HOME/.gitconfig"` + "\n" + checkoutScript
	work := filepath.Join(dir, "work")
	if err := u.do(ctx, env, prepare, "checkout", job.Repo, work, job.Commit); err != nil {
		return o, err
	}
	for _, name := range slices.Sorted(maps.Keys(job.Env)) {
		env = append(env, name+"="+job.Env[name])
	}
	if !job.watched() {
		return u.Limits.run(ctx, u.credential(), work, env, job, nil)
	}
	root, err := os.OpenFile(work, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return o, err
	}
	observe := watch(root, job)
	o, err = u.Limits.run(ctx, u.credential(), work, env, job, nil)
	err = errors.Join(err, u.end(ctx))
	o.Opened = observe()
	return o, err
}

// end ends the processes that a command left. kill -1 spares the process that calls it.
func (u *User) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	return u.do(ctx, []string{"PATH=/usr/bin:/bin"}, "kill -9 -1 2>/dev/null || :", "end")
}

func (u *User) credential() *syscall.Credential {
	return &syscall.Credential{Uid: uint32(u.ID), Gid: uint32(u.ID)}
}

// clean ends the processes that the commands left, and removes their files and IPC objects.
func (u *User) clean(ctx context.Context) error {
	if err := u.end(ctx); err != nil {
		return err
	}
	if err := removeIPC(u.ID); err != nil {
		return fmt.Errorf("what a command left is not gone: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	env := []string{"PATH=/usr/bin:/bin"}
	script := `find ` + leftovers + ` -mindepth 1 -user "$1" -type d -exec chmod u+rwx {} + 2>/dev/null || :
find ` + leftovers + ` -mindepth 1 -user "$1" -delete 2>/dev/null || :
[ -z "$(find ` + leftovers + ` -mindepth 1 -user "$1" 2>/dev/null | head -n 1)" ]`
	if err := u.do(ctx, env, script, "clean", fmt.Sprint(u.ID)); err != nil {
		return fmt.Errorf("what a command left is not gone: %w", err)
	}
	return nil
}

// cleanTime is how long that may take.
const cleanTime = 2 * time.Minute

// do runs a script as that user.
func (u *User) do(ctx context.Context, env []string, script string, args ...string) error {
	var said strings.Builder
	c := process.Command{Args: append([]string{"sh", "-c", script}, args...), Dir: "/", Env: env, User: u.credential(),
		Stdout: &said, Stderr: &said, DieWithThread: true, Output: 1 << 20}
	status, stopped, err := c.Run(ctx)
	switch {
	case err != nil:
		return err
	case stopped != nil:
		return stopped
	case status.Code() != 0:
		return fmt.Errorf("exit %d: %s", status.Code(), strings.TrimSpace(said.String()))
	}
	return nil
}
