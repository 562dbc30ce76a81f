package podman

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// reaper outlives the launcher for a moment. A container is a child of conmon,
// not of podman or of us, so it would go on after a SIGKILL of the launcher:
// behind its rules still, but with no door, no gateway and nobody to end it.
// The reaper reads a pipe whose other end only we hold, and when that closes
// removes what carries our label.
type reaper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// reap removes twice: a container that the dying service was making may appear
// after the first look. $1 is the label, $2 the directory to remove.
const reap = `
read -r word
label=$1 dir=$2
shift 2
if [ "$word" != nothing ]; then
	for i in 1 2; do
		ids=$("$@" ps --all --quiet --no-trunc --filter "label=$label") || break
		[ -z "$ids" ] || "$@" rm --force --time 0 --volumes $ids
		sleep 0.3
	done
fi
rm -rf "$dir"
`

// startReaper: podman is the program with its global arguments.
func startReaper(podman, env []string, label, dir string) (*reaper, error) {
	args := append([]string{"-c", reap, "ward-reaper", label, dir}, podman...)
	r := &reaper{cmd: exec.Command("/bin/sh", args...)}
	r.cmd.Env = env
	r.cmd.Dir = "/"
	// A session of its own: what kills the launcher's group must not kill it.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r.pipe = pipe
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the reaper does not start: %w", err)
	}
	return r, nil
}

// stop lets the reaper do its work, which is nothing when the caller has removed
// every container itself, and waits for it.
func (r *reaper) stop(nothing bool) error {
	if nothing {
		io.WriteString(r.pipe, "nothing\n")
	}
	r.pipe.Close()
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("the reaper: %w", err)
	}
	return nil
}
