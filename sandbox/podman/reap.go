package podman

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/process"
	"git-ward/internal/scratch"
)

// maxReaping bounds the line that a reaper is told.
const maxReaping = 64 << 10

// The descriptors of a reaper besides the streams: the engine's directory's lock, which it
// holds with the launcher, and the two ends of the pipe that its guard reads.
const (
	lockFD = 3 + iota
	guardWordFD
	guardFD
)

// Reap is the hidden verb ReaperVerb. It runs podman's service until the launcher says a word
// or is gone, or the service is, and removes what is left. On out it says which process the
// service is, and later how that ended.
//
// It believes nothing that a process says of itself: containers are those that podman has
// under this run's names, and processes its own descendants.
func Reap(in io.Reader, out io.Writer) error {
	for fd := lockFD; fd <= guardFD; fd++ {
		unix.CloseOnExec(fd)
	}
	// It ends when its launcher does, so it ignores signals from a terminal or a shutdown, and that
	// nobody reads any more what it says: its launcher may be gone before it has removed anything.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("what podman leaves would be nobody's: %w", err)
	}
	words := bufio.NewReader(io.LimitReader(in, maxReaping))
	line, err := words.ReadBytes('\n')
	if err != nil {
		return errors.New("this program is started by git-ward launch")
	}
	var r reaping
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	r.lock = os.NewFile(lockFD, "the lock")
	word := make(chan string, 1)
	go func() {
		w, _ := words.ReadString('\n') // it is ended by its launcher's end
		word <- w
	}()
	return r.reap(word, out)
}

// reap runs the service, and then removes.
func (r *reaping) reap(word <-chan string, out io.Writer) error {
	last, abrupt := r.serve(word, out)
	defer r.guard.dismiss()
	if _, err := os.Stat(r.Dir.Path); err != nil && r.Socket == "" {
		return nil // another reaper has done the work
	}
	if last != nothing || abrupt {
		r.removeAll()
		removeNetworks()
	}
	if last == "" {
		scratch.Reclaim(r.Scratch.Path, r.Scratch.ID)
	}
	return scratch.Inherit(r.Dir.Path, r.Dir.ID, r.lock).Remove()
}

// serve runs the service, and returns the launcher's last message, "" for a dead one's, and
// whether the service ended first.
func (r *reaping) serve(word <-chan string, out io.Writer) (last string, abrupt bool) {
	if r.Socket == "" {
		return <-word, false
	}
	cmd := exec.Command(r.Podman[0], append(r.Podman[1:len(r.Podman):len(r.Podman)], "system", "service", "--time=0", "unix://"+r.Socket)...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started, ended := make(chan error), make(chan string, 1)
	go run(cmd, started, ended)
	if err := <-started; err != nil {
		fmt.Fprintln(out, err)
		return <-word, false
	}
	fmt.Fprintln(out, cmd.Process.Pid)
	r.startGuard()
	orphans := make(chan os.Signal, 1)
	signal.Notify(orphans, unix.SIGCHLD)
	defer signal.Stop(orphans)
	for {
		select {
		case <-orphans:
			process.ReapOrphans(cmd.Process.Pid)
			if hasLost() { // podman would not learn of its end
				syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				fmt.Fprintln(out, "a container lost its conmon")
				<-ended
				r.removeAll()
				return <-word, true
			}
		case how := <-ended:
			fmt.Fprintln(out, how)
			// The launcher has lost its service. It is told, and answers.
			r.removeAll()
			return <-word, true
		case last = <-word:
			r.endService(cmd, ended, last)
			return last, false
		}
	}
}

// run runs the service. The parent-death signal follows the thread that started the child
// (prctl(2)), so the thread stays locked for the child's life.
func run(cmd *exec.Cmd, started chan<- error, ended chan<- string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	started <- err
	if err == nil {
		ended <- ending(cmd)
	}
}

// ending waits for a program and describes its end.
func ending(cmd *exec.Cmd) string {
	cmd.Wait() // its state says more
	return cmd.ProcessState.String()
}

// endService lets the service finish what it is making, so that podman knows all of it. The
// service would also wait for ever for a container that was made but not started. Without
// containers it is ended at once, without its second for a graceful end.
func (r *reaping) endService(cmd *exec.Cmd, ended <-chan string, last string) {
	if last != nothing {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-ended:
			return
		case <-time.After(making):
		}
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	<-ended
}

// The rounds of a removal: a container that the dying service was making may appear after
// the first look.
const (
	rounds      = 12
	leastRounds = 2
	roundPause  = 200 * time.Millisecond
)

// removeAll removes the run's containers, processes and volumes, more than once.
func (r *reaping) removeAll() {
	r.awaitRuntime()
	ids, exits := map[string]bool{}, map[string]string{}
	defer removeExits(ids, exits)
	if r.Builds {
		defer r.podman("untag", buildName(r.Run), buildName(r.Run)) // usually it does not exist
	}
	for i := range rounds {
		findExits(exits)
		left := r.removeContainers(ids)
		for id := range ids {
			// podman does not know a container if it was killed before it saw the container's
			// first process.
			r.inUserNS(r.Runtime, "delete", "--force", id)
			removeCgroups(id)
		}
		left = r.endOrphans(i+1 < rounds/2) || left
		// podman 4.3 deadlocks when it removes a volume in use.
		left = left || r.removeVolumes()
		if !left && i+1 >= leastRounds {
			return
		}
		time.Sleep(roundPause) // the next round sees what ends now
	}
}

// patience is how long a podman command may take; the next round tries again.
const patience = 5 * time.Second

// podman runs podman to its end and returns its output.
func (r *reaping) podman(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.Podman[0], append(r.Podman[1:len(r.Podman):len(r.Podman)], args...)...)
	out, _ := cmd.Output()
	return string(out)
}

// inUserNS runs a program in the user namespace of an ordinary user's podman.
func (r *reaping) inUserNS(args ...string) error {
	if os.Geteuid() != 0 {
		args = append(append(slices.Clone(r.Podman), "unshare"), args...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return exec.CommandContext(ctx, args[0], args[1:]...).Run()
}

// removeContainers removes podman's containers with the run's names, adds their ids, and
// reports whether there were any. One that was not recorded yet is only in the storage
// (--external).
func (r *reaping) removeContainers(ids map[string]bool) bool {
	remove := []string{"rm", "--force", "--time", "0", "--volumes"}
	bare := len(remove)
	for line := range strings.Lines(r.podman("ps", "--all", "--external", "--no-trunc", "--format", "{{.ID}} {{.Names}}")) {
		if id, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, namePrefix+r.Run+"-") {
			ids[id] = true
			remove = append(remove, id)
		}
	}
	if len(remove) == bare {
		return false
	}
	r.podman(remove...)
	return true
}

// removeCgroups removes container cgroups that a killed runtime left.
func removeCgroups(id string) {
	for _, pattern := range []string{"/sys/fs/cgroup/*libpod*", "/sys/fs/cgroup/*/*libpod*", "/sys/fs/cgroup/*/*/*libpod*"} {
		found, _ := filepath.Glob(filepath.Join(pattern, "*"+id+"*"))
		for _, dir := range found {
			for _, below := range append(globAll(dir), dir) {
				syscall.Rmdir(below)
			}
		}
	}
}

// globAll lists a directory's subdirectories in two levels, deepest first.
func globAll(dir string) []string {
	deep, _ := filepath.Glob(dir + "/*/*/")
	flat, _ := filepath.Glob(dir + "/*/")
	return append(deep, flat...)
}

// removeVolumes removes the run's volumes and reports whether there were any. podman 4.3
// mounts one twice for a container in a user namespace, and unmounts it once.
func (r *reaping) removeVolumes() bool {
	names := strings.Fields(r.podman("volume", "ls", "--quiet", "--filter", "label="+labelRun+"="+r.Run))
	for _, name := range names {
		at := strings.TrimSpace(r.podman("volume", "inspect", "--format", "{{.Mountpoint}}", name))
		for at != "" && unix.Unmount(at, unix.MNT_DETACH) == nil {
		}
		r.podman("volume", "rm", name)
	}
	return len(names) > 0
}
