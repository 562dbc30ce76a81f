package fence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"git-ward/sandbox/door"
	"git-ward/sandbox/image"
)

// watcherDoor is the watcher's own way to report (HOOK-4b): a socket beside the agent's,
// with a bucket and turns of its own, that answers the watcher's user and nobody else.
type watcherDoor struct {
	door *door.Door
	user atomic.Int64 // the watcher's id as this host sees it, nobody's before a container is there
}

// nobody is no user's id.
const nobody = -1

// openWatcherDoor opens it. Unfenced, where the watcher is the launcher's own user, it
// answers that one.
func (l *launch) openWatcherDoor() (w *watcherDoor, err error) {
	w = &watcherDoor{}
	w.user.Store(nobody)
	if l.spec.Unfenced {
		w.user.Store(int64(os.Geteuid()))
	}
	w.door, err = door.Listen(door.Config{
		Bare: l.spec.Bare, Dir: l.scratch, Settings: l.spec.Settings, Log: l.logOf("watcher"),
		Principal: door.Watcher, Peer: func() int { return int(w.user.Load()) },
	})
	return w, err
}

// serve answers until ctx is cancelled.
func (w *watcherDoor) serve(ctx context.Context) error { return w.door.Serve(ctx) }

// socket is the path of the socket, dir the directory to mount.
func (w *watcherDoor) socket() string { return w.door.Socket() }
func (w *watcherDoor) dir() string    { return filepath.Dir(w.door.Socket()) }

// admit learns who the watcher is in a container that is initialized, from the map of
// its first process's user namespace, and gives it the directory. An ordinary user's
// launcher cannot give it away; then the socket alone knows its own.
func (w *watcherDoor) admit(pid int) error {
	file, err := os.Open(fmt.Sprintf("/proc/%d/uid_map", pid))
	if err != nil {
		return err
	}
	defer file.Close()
	user := nobody
	for {
		var inside, outside, size int
		if n, _ := fmt.Fscanln(file, &inside, &outside, &size); n != 3 {
			break
		}
		if image.WatcherID >= inside && image.WatcherID-inside < size {
			user = outside + image.WatcherID - inside
		}
	}
	if user == nobody {
		return fmt.Errorf("the container's users have no number %d, which the watcher is", image.WatcherID)
	}
	w.user.Store(int64(user))
	if os.Geteuid() != 0 {
		return nil
	}
	if err := os.Chown(w.dir(), user, user); err != nil {
		return err
	}
	return os.Chmod(w.dir(), 0o700)
}
