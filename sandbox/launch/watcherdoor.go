package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"git-ward/internal/config"
	"git-ward/sandbox/door"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// watcherDoor is the watcher's own way to report (HOOK-4b): a socket beside the agent's,
// with a bucket and turns of its own, that answers the watcher's user and nobody else.
type watcherDoor struct {
	door *door.Door
	user atomic.Int64 // the watcher's id as this host sees it, nobody's before a container is there
}

// nobody is no user's id.
const nobody = -1

// openWatcherDoor opens it. Who runs the watcher says which user it answers.
func (w *worker) openWatcherDoor() (s service, err error) {
	d := &watcherDoor{}
	d.user.Store(nobody)
	d.door, err = door.Listen(door.Config{
		Bare: w.launch.spec.Bare, Dir: w.launch.scratch.Path, Settings: w.launch.spec.Settings, Log: w.launch.logOf("watcher"), Ended: w.launch.recordEnded,
		Principal: door.Watcher, Peer: func() int { return int(d.user.Load()) },
	})
	if err != nil {
		return s, err
	}
	w.watcher = d
	return service{"the watcher's door", d.door.Serve}, nil
}

// socket is the path of the socket, dir the directory to mount.
func (w *watcherDoor) socket() string { return w.door.Socket() }
func (w *watcherDoor) dir() string    { return filepath.Dir(w.door.Socket()) }

// kernels are the runtimes whose processes the host's kernel sees one by one. gVisor's own
// process makes the connections of all that run in it, as the user who asks for them; whether
// it does so for an ordinary user's containers is not tried.
var kernels = []string{podman.DefaultRuntime, "crun"}

// knowsWatcher reports whether the watcher's door can tell it from the agent: by who
// connects, and by a directory that only root can give away. Elsewhere the watcher reports
// through the agent's door.
func knowsWatcher(settings *config.Config) bool {
	return slices.Contains(kernels, settings.Sandbox.Runtime) || os.Geteuid() == 0
}

// admit answers the watcher of a container from now on, whose first process is pid, and
// gives it the directory. An ordinary user's launcher cannot; then the socket alone knows
// its own.
func (w *watcherDoor) admit(pid int, runtime string) error {
	watcher, err := hostID(pid, image.WatcherID)
	if err != nil {
		return err
	}
	w.user.Store(int64(watcher))
	if os.Geteuid() != 0 {
		return nil
	}
	if err := os.Chown(w.dir(), watcher, watcher); err != nil {
		return err
	}
	mode := os.FileMode(0o700)
	if !slices.Contains(kernels, runtime) {
		mode = 0o711 // gVisor's process walks there as neither; who connects is told apart all the same
	}
	return os.Chmod(w.dir(), mode)
}

// hostID is a user of a container as this host sees it, from the map of the user namespace
// of its first process.
func hostID(pid, id int) (int, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/uid_map", pid))
	if err != nil {
		return nobody, err
	}
	defer file.Close()
	for {
		var inside, outside, size int
		if n, _ := fmt.Fscanln(file, &inside, &outside, &size); n != 3 {
			return nobody, fmt.Errorf("the container's users have no number %d", id)
		}
		if id >= inside && id-inside < size {
			return outside + id - inside, nil
		}
	}
}
