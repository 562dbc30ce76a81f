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
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/atomicfile"
	"git-ward/internal/git"
)

// Pending is an admitted push whose refs are about to move: what pre-receive
// hands to post-receive, and what a later push finishes when post-receive died.
type Pending struct {
	Entry
	Process Process `json:"process"` // the receive-pack

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

// Save writes the pending file; from then on the push cannot be forgotten.
func (p *Pending) Save(repo *git.Repo) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	p.path = filepath.Join(pendingDir(repo), p.Record.Push+".json")
	return atomicfile.Write(p.path, data, 0o600)
}

// Remove ends a pending push, whose record is in the chain. Its own post-receive
// may have done so in the meantime.
func (p *Pending) Remove() error { return removeFile(p.path) }

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
		if p.Process.Alive() {
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
	if there, err := p.recorded(batch); there || err != nil {
		return errors.Join(err, p.Remove())
	}
	w, err := NewWriter(ctx, repo, batch)
	if err != nil {
		return err
	}
	defer w.Close()
	moved := map[string]bool{}
	for i := range p.Record.Refs {
		ref := &p.Record.Refs[i]
		if ref.Applied, err = applied(repo, batch, ref.Ref, ref.Old, ref.New, p.Record.Time); err != nil {
			return err
		}
		moved[ref.Ref] = ref.Applied
	}
	p.Record.Reconciled = true
	p.Settle(moved)
	w.late = p
	err = w.Finish(ctx, p)
	if errors.Is(err, errClaimed) { // two pushes found the same leftover
		return nil
	}
	return err
}

// recorded looks for the push in the chain: its post-receive may have died
// between the transaction and the removal of the file.
func (p *Pending) recorded(batch *git.Batch) (bool, error) {
	tip, err := batch.Info(ChainRef)
	if errors.Is(err, git.ErrMissing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	const slack = time.Hour // a clock that was set back
	for id := tip.ID; id != ""; {
		r, err := Read(batch, id)
		if err != nil {
			return false, err
		}
		if r.Push == p.Record.Push {
			return true, nil
		}
		if r.Time.Before(p.Record.Time.Add(-slack)) {
			return false, nil
		}
		_, data, err := batch.Read(id, maxRecord)
		if err != nil {
			return false, err
		}
		c, err := git.ParseCommit(data)
		if err != nil {
			return false, err
		}
		if id = ""; len(c.Parents) > 0 {
			id = c.Parents[0]
		}
	}
	return false, nil
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

// applied reports whether a ref made a move since a time: its reflog says so,
// or, where the reflog is gone with a deleted ref, its present value.
func applied(repo *git.Repo, batch *git.Batch, ref, from, to string, since time.Time) (bool, error) {
	now := git.Zero
	object, err := batch.Info(ref)
	if err == nil {
		now = object.ID
	} else if !errors.Is(err, git.ErrMissing) {
		return false, err
	}
	if to == git.Zero {
		return now == git.Zero, nil
	}
	f, err := os.Open(filepath.Join(repo.Dir, "logs", filepath.FromSlash(ref)))
	if errors.Is(err, fs.ErrNotExist) {
		return now == to, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	const tailSize = 1 << 20
	if info, err := f.Stat(); err == nil && info.Size() > tailSize {
		if _, err := f.Seek(-tailSize, io.SeekEnd); err != nil {
			return false, err
		}
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if move, at, ok := parseReflog(lines.Text()); ok && move == (git.RefUpdate{Old: from, New: to}) && at >= since.Unix() {
			return true, nil
		}
	}
	return false, lines.Err()
}

// parseReflog reads "old new name <mail> seconds zone\tmessage".
func parseReflog(line string) (move git.RefUpdate, at int64, ok bool) {
	head, _, _ := strings.Cut(line, "\t")
	fields := strings.Fields(head)
	if len(fields) < 5 {
		return move, 0, false
	}
	at, err := strconv.ParseInt(fields[len(fields)-2], 10, 64)
	return git.RefUpdate{Old: fields[0], New: fields[1]}, at, err == nil
}
