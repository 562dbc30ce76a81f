package door

import (
	"bufio"
	"cmp"
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
	"git-ward/protocols/state"
)

const (
	// heartbeat is how often a stream reports that it is up to date.
	heartbeat = 30 * time.Second
	// gather is how long events are collected before they are reported together.
	gather = 200 * time.Millisecond
	// maxHeard bounds the kernel's events in one read.
	maxHeard = 1024
	// polling is the interval of checks without inotify: an account may have only so many
	// instances (fs.inotify.max_user_instances).
	polling = 500 * time.Millisecond
)

// anyRef is reported in place of an unknown ref.
const anyRef = "refs/"

// refStream is a repository's refs as they move, for one client.
type refStream struct {
	repo     *git.Repo
	concerns func(ref string) bool
	out      *bufio.Writer
	known    map[string]string
	touched  map[string]bool   // since the last `.`: refs with kernel events
	said     map[string]bool   // and those that were written
	unsure   bool              // something unknown was touched since the last heartbeat
	watch    *git.Watch        // directories of refs, with their time when listed
	followed map[string]bool   // every directory that ever was among them
	notify   *fsnotify.Watcher // nil: no inotify
}

// concerning returns a filter for the refs that a directive's worker needs: without the audit, which every
// push moves, and without other directives' refs.
func concerning(directive string) func(ref string) bool {
	return func(ref string) bool {
		if ref == state.AuditRef || ref == state.AuditNotes {
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

// serveWatch writes the stream of moved refs to standard output: `HEAD REF`, a line `OLD NEW
// REF` for each existing ref with OLD being zeros, and a line `.`; then a line for each ref
// that moves, NEW being zeros for a deleted one, and `.` each half minute. A ref that moved
// there and back unseen is a line of zeros for `refs/`: a client that fetched in between must
// fetch again. If the kernel does not say which ref moved, that line comes with the next
// heartbeat. The stream ends with ctx or the client.
func serveWatch(ctx context.Context, repo *git.Repo, concerns func(string) bool) error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	ends := newEnds()
	defer ends.restore()
	ctx, done := whileThere(ctx, ends.gone, leaseLook)
	defer done()
	defer context.AfterFunc(ctx, func() { ends.out.Close() })() // also ends a blocked write
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

// run writes all refs, then each that moves.
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

// follow watches every directory of refs, and the one with packed-refs.
func (s *refStream) follow() {
	s.watch = s.repo.Watch()
	add := func(dir string) {
		s.followed[dir] = true
		if s.notify != nil && s.notify.Add(filepath.Join(s.repo.Dir, dir)) != nil {
			s.notify.Close()
			s.notify = nil // out of watches: poll from now on
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

// list reads all refs and reports which have moved.
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
	old := cmp.Or(s.known[ref], git.Zero)
	if old == id {
		return
	}
	fmt.Fprintf(s.out, "%s %s %s\n", old, id, ref)
	s.said[ref] = true
	if s.known[ref] = id; id == git.Zero {
		delete(s.known, ref)
	}
}

// back reports a touched ref whose value is unchanged.
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

// beat writes a heartbeat, and before it the line for unknown changes.
func (s *refStream) beat() error {
	if s.unsure {
		s.unsure = false
		fmt.Fprintf(s.out, "%s %s %s\n", git.Zero, git.Zero, anyRef)
	}
	fmt.Fprintln(s.out, ".")
	return s.out.Flush()
}

// wait waits until something has moved and writes it, or for the next heartbeat. all is true
// when all refs have to be read.
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
		case <-s.notify.Errors: // the kernel's queue overflowed
			s.unsure = true
			return true, nil
		case event := <-s.notify.Events:
			if all := s.heard(event.Name); s.more(ctx) || all {
				return true, nil
			}
			if len(s.touched) > 0 {
				return false, nil
			}
		}
	}
}

// more collects the events that follow the first, and reports whether all refs have to be
// read. It sleeps instead of waiting for events, or each of a hundred streams would wake for
// every file that git touches.
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

// heard reads a ref whose file was touched. If its loose file does not tell, all refs have to
// be read: a packed or deleted ref, and a new directory.
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
			s.unsure = true // deleted, which list reports, or packed
		}
		return true
	}
	s.touched[ref] = true
	s.say(ref, id)
	return false
}

// poll is wait without inotify.
func (s *refStream) poll(ctx context.Context) (all bool, err error) {
	moved, err := s.watch.Wait(ctx, polling, time.Now().Add(heartbeat), nil)
	if moved || err != nil {
		s.unsure = s.unsure || moved
		return moved, err
	}
	return false, s.beat()
}
