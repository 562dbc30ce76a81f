// Package opened observes which files of a checkout are opened, and which are written to, by
// the kernel's inotify (PROOF-2): whatever program does it, by whatever path. It decides nothing.
package opened

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// MaxFiles bounds how many files are watched: the kernel keeps a kilobyte for each.
const MaxFiles = 65536

// Watch observes a checkout's files from Begin or BeginWritten to End.
type Watch struct {
	in      *os.File // the kernel's events
	fd      int      // of in, which File.Fd would make blocking
	root    *os.File
	file    uint32             // the events of an inode that count
	name    uint32             // the events of a directory that count, by a name in it
	stands  uint32             // and those by which another directory stands in a watched one's place
	canary  int32              // the watch of the root, which Ward itself opens
	files   map[int32][]string // by the watch of an inode, which may have several names
	dirs    map[int32]string   // by the watch of a directory that has some of them
	objects map[int32]bool     // directories of git's objects: what is read there may be any file
	above   map[string]bool    // the directories that have a watched file below them
	watched []string
	seen    map[string]bool
	lost    error         // why more may have been seen
	ended   chan struct{} // closed when nobody reads events any more
}

var (
	errOverflow = errors.New("more happened at once than the kernel keeps")
	errObjects  = errors.New("git's objects were read, which have every file")
	errLost     = errors.New("the kernel watched some of it no longer, as a directory was made anew or taken away")
	errCanary   = errors.New("the kernel did not tell of what Ward itself opened")
)

// Begin watches which files of a checkout are opened, by their paths in root, before anything
// runs that may open them; objects are directories of git's that have the same contents. root
// is for Begin to close. An error says why nothing is observed.
func Begin(root *os.File, files, objects []string) (*Watch, error) {
	return begin(root, files, objects, unix.IN_OPEN, unix.IN_OPEN, unix.IN_CREATE|unix.IN_MOVED_TO)
}

// BeginWritten watches which files of a checkout are written to, replaced, moved or removed, or
// get another mode or time. Otherwise it is like Begin. Whoever has a file open for writing
// counts as having written: the kernel does not tell what goes through a mapping of it.
func BeginWritten(root *os.File, files []string) (*Watch, error) {
	return begin(root, files, nil, unix.IN_MODIFY|unix.IN_ATTRIB|unix.IN_CLOSE_WRITE|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF,
		unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO|unix.IN_MOVE_SELF, 0)
}

func begin(root *os.File, files, objects []string, file, name, stands uint32) (_ *Watch, err error) {
	w := &Watch{root: root, file: file, name: name, stands: stands, files: map[int32][]string{}, dirs: map[int32]string{}, objects: map[int32]bool{}, above: map[string]bool{".": true}, watched: files, seen: map[string]bool{}, ended: make(chan struct{})}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("inotify: %w", err)
	}
	w.fd = fd
	w.in = os.NewFile(uintptr(fd), "inotify")
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if len(files) > MaxFiles {
		return nil, fmt.Errorf("there are %d files to watch, more than %d", len(files), MaxFiles)
	}
	if err := w.begin(objects); err != nil {
		return nil, err
	}
	if !w.sings() {
		return nil, errCanary
	}
	go w.listen()
	return w, nil
}

func (w *Watch) begin(objects []string) (err error) {
	if w.canary, err = w.add(".", w.top()); err != nil {
		return err
	}
	w.dirs[w.canary] = "."
	for _, name := range w.watched {
		for dir := path.Dir(name); !w.above[dir]; dir = path.Dir(dir) {
			w.above[dir] = true
			wd, err := w.add(dir, w.name|w.stands)
			if err != nil {
				return err
			}
			w.dirs[wd] = dir
		}
		wd, err := w.add(name, w.file)
		if err != nil {
			return err
		}
		w.files[wd] = append(w.files[wd], name)
	}
	for _, dir := range objects {
		wd, err := unix.InotifyAddWatch(w.fd, dir, unix.IN_OPEN)
		if err != nil {
			return fmt.Errorf("git's objects: %w", err)
		}
		w.objects[int32(wd)] = true
	}
	return nil
}

// top are the events of the checkout itself.
func (w *Watch) top() uint32 { return w.name | w.stands | unix.IN_MOVE_SELF }

// add watches a path of the checkout for some events, without following a link. No access need be watched
// besides the opening before it, because nobody has a file open yet.
func (w *Watch) add(name string, events uint32) (int32, error) {
	fd, err := unix.Openat2(int(w.root.Fd()), name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err == nil {
		defer unix.Close(fd)
		var wd int
		if wd, err = unix.InotifyAddWatch(w.fd, fmt.Sprintf("/proc/self/fd/%d", fd), events); err == nil {
			return int32(wd), nil
		}
	}
	return 0, fmt.Errorf("%s: %w", name, err)
}

// listen reads events as they come, because the kernel queues only so many.
func (w *Watch) listen() {
	defer close(w.ended)
	for buf := make([]byte, 64<<10); ; {
		n, err := w.in.Read(buf)
		if err != nil {
			return
		}
		w.take(buf[:n])
	}
}

// take reads events, and reports whether one of them is the canary's.
func (w *Watch) take(events []byte) (sang bool) {
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		size := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := strings.TrimRight(string(events[unix.SizeofInotifyEvent:size]), "\x00")
		events = events[size:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			w.lost = errOverflow
		case w.objects[wd] && name != "":
			w.lost = errObjects
		case mask&unix.IN_UNMOUNT != 0, w.objects[wd] && mask&unix.IN_IGNORED != 0:
			w.lost = errLost
		case w.stands != 0 && (wd == w.canary && name == "" && mask&unix.IN_MOVE_SELF != 0 || name != "" && mask&w.stands != 0):
			if dir, ok := w.dirs[wd]; name == "" || ok && w.above[path.Join(dir, name)] {
				w.lost = errLost
			}
		case name != "" && mask&w.name != 0:
			if dir, ok := w.dirs[wd]; ok { // what stands now where a file was, too
				w.seen[path.Join(dir, name)] = true
			}
		case name == "" && mask&unix.IN_OPEN != 0 && wd == w.canary:
			sang = true
		case name == "" && mask&unix.IN_MOVE_SELF != 0 && w.dirs[wd] != "":
			w.gone(w.dirs[wd])
		case name == "" && mask&w.file != 0:
			for _, file := range w.files[wd] {
				w.seen[file] = true
			}
		}
	}
	return sang
}

// gone counts all files below a directory that moved as seen, because nothing can be seen there any more.
func (w *Watch) gone(dir string) {
	for _, name := range w.watched {
		if dir == "." || strings.HasPrefix(name, dir+"/") {
			w.seen[name] = true
		}
	}
}

// sings opens the checkout's directory, the canary, when nobody else opens anything, and reports whether
// the kernel's event came.
func (w *Watch) sings() (sang bool) {
	w.drain()
	if root, err := w.add(".", w.top()|unix.IN_OPEN); err != nil || root != w.canary {
		return false
	}
	defer w.add(".", w.top())
	fd, err := unix.Openat(int(w.root.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return w.drain()
}

// drain reads all queued events.
func (w *Watch) drain() (sang bool) {
	for buf := make([]byte, 64<<10); ; {
		n, err := unix.Read(w.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return sang
		}
		sang = w.take(buf[:n]) || sang
	}
}

// End is called after all processes that could open the files have ended. It lists the files that were
// opened, or written to, sorted. An error says why each file may have been.
func (w *Watch) End() (files []string, err error) {
	w.in.SetReadDeadline(time.Unix(1, 0)) // ends listen, and not what comes below
	<-w.ended
	defer w.close()
	if !w.sings() {
		return w.watched, errCanary
	}
	if w.lost != nil {
		return w.watched, w.lost
	}
	for _, name := range w.watched {
		if w.seen[name] {
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return files, nil
}

func (w *Watch) close() {
	w.in.Close()
	w.root.Close()
}
