package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/lines"
)

// Keep returns a context in which readers and movers reuse git children until done is called.
// It suits a process that asks the same repositories often, each time for a few objects: a
// child costs more than a hundred objects. One that nobody asks for a while ends.
func Keep(ctx context.Context) (kept context.Context, done func()) {
	if keeperOf(ctx) != nil {
		return ctx, func() {}
	}
	k := &keeper{readers: map[string][]*reading{}, movers: map[string]*mover{}, said: map[string]said{}}
	return context.WithValue(ctx, keeperKey{}, k), k.end
}

type keeperKey struct{}

// restTime is that while: longer than a worker is silent between two steps, and no memory for a
// process that waits. Tests shorten it.
var restTime = 10 * time.Second

// maxResting is how many readers of one repository rest at once: one that is asked amid the
// answers of another is common, a third is not.
const maxResting = 2

// keeper has the children that nobody uses at the moment.
type keeper struct {
	mu      sync.Mutex
	ended   bool
	readers map[string][]*reading // by repository and environment
	movers  map[string]*mover     // by repository, environment and text for the reflog
	said    map[string]said       // answers of repositories about themselves, by directory
}

// keeperOf is nil where nothing is kept.
func keeperOf(ctx context.Context) *keeper {
	k, _ := ctx.Value(keeperKey{}).(*keeper)
	return k
}

func (k *keeper) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	for _, list := range k.readers {
		for _, r := range list {
			r.rest.Stop()
			r.end()
		}
	}
	for _, m := range k.movers {
		m.rest.Stop()
		m.end()
	}
	clear(k.readers)
	clear(k.movers)
}

// apart is the context of a kept child. It does not end with that of its first user.
func apart(ctx context.Context) (own context.Context, cancel context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}

// reading is a `git cat-file --batch-command` child.
type reading struct {
	cmd    *Child
	in     io.WriteCloser
	out    *bufio.Reader
	errs   lines.Head
	owed   int    // answers that are still to come
	of     string // the repository and the environment that it is started with
	marks  []Mark // how that looked then
	cancel context.CancelFunc
	rest   *time.Timer // ends it where nobody asks
}

// startReading starts the child, or takes the one that is kept.
func (r *Repo) startReading(ctx context.Context) (*reading, error) {
	k := keeperOf(ctx)
	if k == nil || len(r.quarantine) > 0 && r.beside == "" {
		return r.newReading(ctx, func() {})
	}
	marks := r.objectMarks()
	if marks == nil { // nobody could tell when it is stale
		return r.newReading(ctx, func() {})
	}
	of := strings.Join(append([]string{r.Dir, fmt.Sprint(r.Limits)}, r.reader(ctx, batchArgs...).Env...), "\x00")
	for old := k.takeReader(of); old != nil; old = k.takeReader(of) {
		if slices.Equal(old.marks, marks) && alive(old.cmd) && r.Limits.spares(old.cmd.Process.Pid) {
			return old, nil
		}
		old.end()
	}
	own, cancel := apart(ctx)
	n, err := r.newReading(own, cancel)
	if err != nil {
		cancel()
		return nil, err
	}
	n.of, n.marks = of, marks
	return n, nil
}

func (r *Repo) newReading(ctx context.Context, cancel context.CancelFunc) (*reading, error) {
	n := &reading{cmd: r.reader(ctx, batchArgs...), cancel: cancel}
	n.cmd.Stderr = &n.errs
	in, err := n.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	n.in, n.out = in, bufio.NewReaderSize(out, 64<<10)
	return n, n.cmd.Start()
}

// objectMarks are of what a child looks at once: packs that were made since it finds, but it
// holds on to those that are gone, and of a new directory to borrow from it does not hear.
func (r *Repo) objectMarks() (marks []Mark) {
	d := r.directReader()
	if d == nil {
		return nil
	}
	same := fileMark{inode: markFile(r.Dir).inode} // files come and go in the directory
	marks = append(marks, Mark{same, markFile(r.Dir + "/config")})
	for _, dir := range d.objects {
		marks = append(marks, Mark{markFile(dir + "/pack"), markFile(dir + "/info/alternates")})
	}
	return marks
}

// alive reports whether a kept child is still running: other processes of the same user, such
// as an agent's commands, can end it.
func alive(c *Child) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == 0
}

// takeReader is the kept child that was asked last, nil where there is none.
func (k *keeper) takeReader(of string) *reading {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := k.readers[of]
	if len(list) == 0 {
		return nil
	}
	r := list[len(list)-1]
	r.rest.Stop()
	k.dropReader(r)
	return r
}

// dropReader reports whether a child was kept. It is not any more.
func (k *keeper) dropReader(r *reading) bool {
	list := k.readers[r.of]
	i := slices.Index(list, r)
	if i < 0 {
		return false
	}
	if k.readers[r.of] = slices.Delete(list, i, i+1); len(list) == 1 {
		delete(k.readers, r.of)
	}
	return true
}

// giveReader keeps a child for the next reader, and reports whether it did.
func (k *keeper) giveReader(r *reading) bool {
	if k == nil || r.of == "" || r.owed != 0 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended || len(k.readers[r.of]) == maxResting {
		return false
	}
	k.readers[r.of] = append(k.readers[r.of], r)
	r.rest = k.after(restTime, func() func() error {
		if !k.dropReader(r) {
			return nil
		}
		return r.end
	})
	return true
}

// after ends a child after a while: the one that take, which looks whether it is kept, takes.
func (k *keeper) after(d time.Duration, take func() (end func() error)) *time.Timer {
	return time.AfterFunc(d, func() {
		k.mu.Lock()
		end := take()
		k.mu.Unlock()
		if end != nil {
			_ = end() // nobody waits for its word
		}
	})
}

// end ends the child. It has no more to say.
func (r *reading) end() error {
	defer r.cancel()
	r.in.Close()
	return r.cmd.Wait()
}
