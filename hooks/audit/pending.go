package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"git-ward/hooks/checks"
	"git-ward/internal/atomicfile"
	"git-ward/internal/git"
)

// Pending is an admitted push whose refs are about to move: what pre-receive
// hands to post-receive, and what a later push finishes when post-receive died.
type Pending struct {
	Entry
	Process Process `json:"process"` // the receive-pack
	// Since is the tip of the chain when the push was admitted: its record, when
	// there is one, comes after it.
	Since string `json:"since"`
	// Reflogs is the size of each ref's reflog then: its move, when it was made,
	// stands after it.
	Reflogs map[string]int64 `json:"reflogs"`

	path string
}

// Process names a process beyond the reuse of its id: start is in clock ticks
// since boot (proc_pid_stat(5), field 22), boot the boot's own id.
type Process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// Identify returns the identity of a running process.
func Identify(pid int) (Process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, err
	}
	// The second field is the name in parentheses and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return Process{}, fmt.Errorf("/proc/%d/stat is cut off", pid)
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return Process{}, fmt.Errorf("process %d has ended", pid) // and waits for its parent to notice
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return Process{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return Process{pid, start, strings.TrimSpace(string(boot))}, err
}

// Alive reports whether the process still runs.
func (p Process) Alive() bool {
	now, err := Identify(p.PID)
	return err == nil && now == p
}

func pendingDir(repo *git.Repo) string { return filepath.Join(repo.Dir, "ward", "pending") }

// Admit writes the pending file; from then on the push cannot be forgotten.
func Admit(repo *git.Repo, batch *git.Batch, e Entry, receivePack Process) error {
	since, err := tip(batch)
	if err != nil {
		return err
	}
	p := &Pending{Entry: e, Process: receivePack, Since: since, Reflogs: map[string]int64{}}
	for _, ref := range e.Record.Refs {
		info, err := os.Stat(reflogPath(repo, ref.Ref))
		if err == nil {
			p.Reflogs[ref.Ref] = info.Size()
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			return err
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(pendingDir(repo), p.Record.Push+".json"), data, 0o600)
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// maxPending bounds a pending file: refs, rules and lessons of one push.
const maxPending = 64 << 20

// LoadPending reads every pending push. A file that cannot be read is an error:
// it may be the only trace of a push.
func LoadPending(repo *git.Repo) ([]*Pending, error) {
	entries, err := os.ReadDir(pendingDir(repo))
	if err != nil {
		return nil, err
	}
	var all []*Pending
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".json") {
			continue // a temporary file of a writer that was killed
		}
		p := &Pending{path: filepath.Join(pendingDir(repo), name)}
		data, err := os.ReadFile(p.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its post-receive was faster
		}
		if err == nil && len(data) > maxPending {
			err = errors.New("too large")
		}
		if err == nil {
			err = json.Unmarshal(data, p)
		}
		if err != nil || p.Record == nil {
			return nil, fmt.Errorf("pending push %s cannot be read: %w", p.path, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// Reconcile appends the records of pushes whose receive-pack is gone without
// one, each ref judged by its reflog, and returns how many there were.
func Reconcile(ctx context.Context, repo *git.Repo, batch *git.Batch) (int, error) {
	all, err := LoadPending(repo)
	if err != nil {
		return 0, err
	}
	done := 0
	for _, p := range all {
		// Of two pushes of the same move one makes it. While one still runs, nobody
		// can tell which.
		twin := func(q *Pending) bool { return q != p && q.Process.Alive() && p.shares(q) }
		if p.Process.Alive() || slices.ContainsFunc(all, twin) {
			continue
		}
		if err := p.reconcile(ctx, repo, batch); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

func (p *Pending) reconcile(ctx context.Context, repo *git.Repo, batch *git.Batch) error {
	w, err := NewWriter(ctx, repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	moved := map[string]bool{}
	for _, ref := range p.Record.Refs {
		if moved[ref.Ref], err = p.applied(repo, batch, ref.Update); err != nil {
			return err
		}
	}
	p.Record.Reconciled = true
	p.Settle(moved)
	return w.Finish(ctx, p)
}

// shares reports whether two pushes ask for the same move of a ref.
func (p *Pending) shares(q *Pending) bool {
	return slices.ContainsFunc(p.Record.Refs, func(a Ref) bool {
		return slices.ContainsFunc(q.Record.Refs, func(b Ref) bool { return a.Update == b.Update })
	})
}

// Settle says which refs moved; a push that moved none is lost.
func (p *Pending) Settle(moved map[string]bool) {
	p.Record.Verdict = Lost
	for i := range p.Record.Refs {
		ref := &p.Record.Refs[i]
		if ref.Applied = moved[ref.Ref]; ref.Applied {
			p.Record.Verdict = Accepted
		}
	}
}

// applied reports whether a ref made its move after the push was admitted, and no
// other push's record has it: its reflog says so, or, where the reflog is gone with
// a deleted ref, its present value.
func (p *Pending) applied(repo *git.Repo, batch *git.Batch, u checks.Update) (bool, error) {
	made, err := p.made(repo, batch, u)
	if err != nil || made == 0 {
		return false, err
	}
	recorded, err := recordedSince(batch, p.Since, u)
	return made > recorded, err
}

// made counts how often a ref made its move after the push was admitted.
//
// The place in the reflog counts, not the time: git takes the time of an entry
// once a process, which can be a second before the hook's start.
func (p *Pending) made(repo *git.Repo, batch *git.Batch, u checks.Update) (n int, err error) {
	now := git.Zero
	object, err := batch.Info(u.Ref)
	if err == nil {
		now = object.ID
	} else if !errors.Is(err, git.ErrMissing) {
		return 0, err
	}
	if now == u.New { // the least, where no reflog says more
		n = 1
	}
	if u.New == git.Zero {
		return n, nil
	}
	f, err := os.Open(reflogPath(repo, u.Ref))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return n, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if from := p.Reflogs[u.Ref]; from <= info.Size() { // else the ref was deleted and began anew
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return 0, err
		}
	}
	n = 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		old, rest, _ := strings.Cut(lines.Text(), " ")
		if to, _, _ := strings.Cut(rest, " "); old == u.Old && to == u.New {
			n++
		}
	}
	return n, lines.Err()
}

// recordedSince counts the records after a commit of the chain that have a move.
func recordedSince(batch *git.Batch, since string, u checks.Update) (n int, err error) {
	for r, err := range recordsSince(batch, since) {
		if err != nil {
			return 0, err
		}
		for _, ref := range r.Refs {
			if ref.Applied && ref.Update == u {
				n++
			}
		}
	}
	return n, nil
}

func reflogPath(repo *git.Repo, ref string) string {
	return filepath.Join(repo.Dir, "logs", filepath.FromSlash(ref))
}
