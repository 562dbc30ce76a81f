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

// watcherDoor is the watcher's own door (HOOK-4b): a socket next to the agent's, with its own
// bucket and queue, that serves only the watcher's user.
type watcherDoor struct {
	door *door.Door
	user atomic.Int64 // the watcher's user id on this host; invalid before a container exists
}

// nobody is no user's id.
const nobody = -1

// openWatcherDoor opens it. The code that runs the watcher sets the user that it serves.
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

// dir is the directory of the socket, to mount.
func (w *watcherDoor) dir() string { return filepath.Dir(w.door.Socket()) }

// kernels are the runtimes whose processes are ordinary processes of the host's kernel.
// gVisor's own process makes the connections of everything in it, as the requesting user;
// whether rootless, is untested.
var kernels = []string{podman.DefaultRuntime, "crun"}

// knowsWatcher reports whether the watcher's door can tell it from the agent: by the peer's
// credentials, and by a directory that only root can give away. Elsewhere the watcher reports
// through the agent's door.
func knowsWatcher(settings *config.Config) bool {
	return slices.Contains(kernels, settings.Sandbox.Runtime) || os.Geteuid() == 0
}

// admit serves the watcher of a container whose first process is pid, and gives it the
// directory. A rootless launcher cannot change the owner; then only the socket's check
// protects it.
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
		mode = 0o711 // gVisor's process is neither user; the peer's credentials still tell them apart
	}
	return os.Chmod(w.dir(), mode)
}

// hostID maps a container's user id to this host's by the user namespace of its first process.
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
