package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"git-ward/internal/git"
	"git-ward/protocols/lease"
)

const (
	// heartbeat is how often a stream says that it is up to date when nothing moves.
	heartbeat = 30 * time.Second
	// gather is how long what moves together is let come together.
	gather = 200 * time.Millisecond
	// maxHeard is how much may be told by the kernel meanwhile.
	maxHeard = 1024
	// polling is the time between two looks where the kernel tells nothing: an account may
	// have only so many who listen (fs.inotify.max_user_instances).
	polling = 500 * time.Millisecond
)

// anyRef stands for a ref of which it is not known which.
const anyRef = "refs/"

// refStream is a repository's refs as they move, for one client.
type refStream struct {
	repo     *git.Repo
	concerns func(ref string) bool
	out      *bufio.Writer
	known    map[string]string
	touched  map[string]bool   // since the last `.`: refs that the kernel told of
	said     map[string]bool   // and those that were written
	unsure   bool              // something was touched since the last heartbeat, nobody knows what
	watch    *git.Watch        // of the directories of refs, from when each was listed
	followed map[string]bool   // every directory that ever was among them
	notify   *fsnotify.Watcher // nil: the kernel tells nothing
}

// concerning says which refs matter to who works on a directive: not the audit's, which
// each push of anybody moves, and not what others work on.
func concerning(directive string) func(ref string) bool {
	return func(ref string) bool {
		if ref == "refs/ward/audit" || ref == "refs/notes/audit" {
			return false
		}
		for _, prefix := range []string{"refs/ward/uow/", "refs/ward/record/", "refs/ward/folded/", lease.Prefix, "refs/heads/agent/", "refs/heads/rescue/"} {
			if rest, ok := strings.CutPrefix(ref, prefix); ok {
				other, _, _ := strings.Cut(strings.SplitN(rest, "/", 2)[0], ".")
				return other == directive || !lease.IsDirective(other)
			}
		}
		return true
	}
}

// serveWatch writes the stream of moved refs to standard output: `HEAD REF`, a line `OLD
// NEW REF` for each ref that there is, OLD being zeros, and a line `.`; then a line for each
// that moves, NEW being zeros for one that is gone, and `.` each half minute. A ref that moved
// and moved back unseen is a line of zeros for `refs/`: a client that fetched in between must
// fetch again. Where the kernel does not say which ref moved, that line comes with the next
// heartbeat. The stream ends with ctx, or with the client.
func serveWatch(ctx context.Context, repo *git.Repo, concerns func(string) bool) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	ends := newEnds()
	defer ends.restore()
	ctx, done := whileThere(ctx, ends.gone, leaseLook)
	defer done()
	defer context.AfterFunc(ctx, func() { ends.out.Close() })() // a write that waits, too
	s, stop := newRefStream(repo, concerns, unhurried{ends})
	defer stop()
	err := s.run(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func newRefStream(repo *git.Repo, concerns func(string) bool, out io.Writer) (s *refStream, stop func()) {
	s = &refStream{repo: repo, concerns: concerns, out: bufio.NewWriter(out), known: map[string]string{}, touched: map[string]bool{}, said: map[string]bool{}, followed: map[string]bool{}}
	n, err := fsnotify.NewBufferedWatcher(maxHeard)
	if err != nil {
		return s, func() {}
	}
	s.notify = n
	return s, func() { n.Close() }
}

// run says all, and then what moves.
func (s *refStream) run(ctx context.Context) error {
	head, err := s.repo.Output(ctx, "symbolic-ref", "HEAD")
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "HEAD %s\n", strings.TrimSpace(string(head)))
	for all := true; ; {
		if all {
			s.follow()
			err = s.list(ctx)
		}
		if s.back(); err == nil && (all || s.out.Buffered() > 0) {
			fmt.Fprintln(s.out, ".")
			err = s.out.Flush()
		}
		if err != nil {
			return err
		}
		if all, err = s.wait(ctx); err != nil {
			return err
		}
	}
}

// follow asks to be told of every directory of refs, and of the one with packed-refs.
func (s *refStream) follow() {
	s.watch = s.repo.Watch()
	add := func(dir string) {
		s.followed[dir] = true
		if s.notify != nil && s.notify.Add(filepath.Join(s.repo.Dir, dir)) != nil {
			s.notify.Close()
			s.notify = nil // no room for one more; from now on it is looked
		}
	}
	add(".")
	filepath.WalkDir(filepath.Join(s.repo.Dir, "refs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dir, _ := filepath.Rel(s.repo.Dir, path)
			s.watch.Add(dir)
			add(dir)
		}
		return nil
	})
}

// list reads all refs and says which have moved.
func (s *refStream) list(ctx context.Context) error {
	tips, err := s.repo.Refs(ctx, "refs/")
	if err != nil {
		return err
	}
	gone := maps.Clone(s.known)
	for _, tip := range tips {
		if s.concerns(tip.Name) {
			delete(gone, tip.Name)
			s.say(tip.Name, tip.ID)
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(gone)) {
		s.say(ref, git.Zero)
	}
	return nil
}

// say writes that a ref is at an id, if that is new.
func (s *refStream) say(ref, id string) {
	old := s.known[ref]
	if old == "" {
		old = git.Zero
	}
	if old == id {
		return
	}
	fmt.Fprintf(s.out, "%s %s %s\n", old, id, ref)
	s.said[ref] = true
	if s.known[ref] = id; id == git.Zero {
		delete(s.known, ref)
	}
}

// back says that something which was touched is as it was.
func (s *refStream) back() {
	for ref := range s.touched {
		if !s.said[ref] {
			fmt.Fprintf(s.out, "%s %s %s\n", git.Zero, git.Zero, anyRef)
			break
		}
	}
	clear(s.touched)
	clear(s.said)
}

// beat says that the stream lives, and what nobody was sure of.
func (s *refStream) beat() error {
	if s.unsure {
		s.unsure = false
		fmt.Fprintf(s.out, "%s %s %s\n", git.Zero, git.Zero, anyRef)
	}
	fmt.Fprintln(s.out, ".")
	return s.out.Flush()
}

// wait waits until something has moved, and says it, or for the time to say that nothing
// has; all is true when all refs have to be read.
func (s *refStream) wait(ctx context.Context) (all bool, err error) {
	if s.notify == nil {
		return s.poll(ctx)
	}
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-beat.C:
			return false, s.beat()
		case <-s.notify.Errors: // too much at once
			s.unsure = true
			return true, nil
		case event := <-s.notify.Events:
			all := s.heard(event.Name)
			if s.more(ctx) || all {
				return true, nil
			}
			if len(s.touched) > 0 {
				return false, nil
			}
		}
	}
}

// more hears what follows an event, and reports whether all has to be read. It is slept for,
// not waited for: of a hundred streams each would wake for every file that git touches.
func (s *refStream) more(ctx context.Context) (all bool) {
	if sleep(ctx, gather) != nil {
		return false
	}
	for {
		select {
		case event := <-s.notify.Events:
			all = s.heard(event.Name) || all
		case <-s.notify.Errors:
			s.unsure, all = true, true
		default:
			return all
		}
	}
}

// heard says what became of a ref whose file was touched. Where that is not told by a loose
// ref's file, all has to be read: a ref that is packed or gone, and a new directory.
func (s *refStream) heard(path string) (all bool) {
	ref, err := filepath.Rel(s.repo.Dir, path)
	if err != nil || ref == "packed-refs" {
		s.unsure = true
		return true
	}
	if !strings.HasPrefix(ref, "refs/") || strings.HasSuffix(ref, ".lock") || !s.concerns(ref) {
		return false
	}
	data, err := os.ReadFile(path)
	if s.followed[ref] || errors.Is(err, syscall.EISDIR) {
		s.unsure = true
		return true
	}
	id := strings.TrimSuffix(string(data), "\n")
	if err != nil || !git.IsID(id) {
		if s.known[ref] == "" {
			s.touched[ref] = true // it came and went
		} else {
			s.unsure = true // it is gone, which list says, or packed
		}
		return true
	}
	s.touched[ref] = true
	s.say(ref, id)
	return false
}

// poll is wait where the kernel tells nothing.
func (s *refStream) poll(ctx context.Context) (all bool, err error) {
	moved, err := s.watch.Wait(ctx, polling, time.Now().Add(heartbeat), nil)
	if moved || err != nil {
		s.unsure = s.unsure || moved
		return moved, err
	}
	return false, s.beat()
}
