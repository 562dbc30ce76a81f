package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// Entry is a record to append and what else its push, once accepted, changes.
type Entry struct {
	Record  *Record      `json:"record"`
	Retired []int        `json:"retired"` // directive ids that the push removed
	Lessons []LessonNote `json:"lessons"`
}

// LessonNote is the lines that a commit added to lessons.jsonl.
type LessonNote struct {
	Commit string   `json:"commit"`
	Lines  []string `json:"lines"`
}

// Writer appends records. Its two children are started early, so that their
// start is hidden behind the caller's own work.
type Writer struct {
	repo  *git.Repo
	batch *git.Batch
	tx    *git.RefTx
	claim string // a pending file that must still be there, and goes with the append
	// late is a push that somebody else may be recording: a killed writer's
	// update-ref can still end well, between any look and the append.
	late *Pending
}

// errClaimed says that somebody else has recorded the pending push.
var errClaimed = errors.New("recorded by someone else")

// NewWriter prepares to append. Batch may be shared with the caller, who closes
// it. Close the writer.
func NewWriter(ctx context.Context, repo *git.Repo, batch *git.Batch) (*Writer, error) {
	w := &Writer{repo: repo, batch: batch}
	return w, w.begin(ctx)
}

func (w *Writer) begin(ctx context.Context) (err error) {
	w.tx, err = w.repo.BeginUpdate(ctx, "ward: audit")
	return err
}

// Close ends a writer; one that was not used changes nothing.
func (w *Writer) Close() {
	if w.tx != nil {
		w.tx.Abort()
		w.tx = nil
	}
}

// maxTries bounds the retries, about 15 seconds of them. Writers that keep to the
// lock do not race; but a writer that was killed leaves its update-ref behind,
// which ends in its own time.
const maxTries = 150

// staleAfter is the age at which git's lock on one of the audit's refs belongs
// to nobody: Ward's writers are kept out by their own lock, and an update-ref
// lives for milliseconds.
const staleAfter = 5 * time.Second

// lockedOut reports whether git's lock file stands on a ref of the audit, and
// removes one that a killed process left for ever.
func (w *Writer) lockedOut() bool {
	locked := false
	for _, ref := range []string{ChainRef, NotesRef, LessonsRef} {
		path := filepath.Join(w.repo.Dir, ref+".lock")
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		locked = true
		if time.Since(info.ModTime()) > staleAfter {
			os.Remove(path)
		}
	}
	return locked
}

// Append writes entries to the chain and their notes in one transaction, and
// sets the records' ids. The lock keeps writers from racing each other in vain;
// the compare-and-swap keeps them right (GIT-1).
func (w *Writer) Append(ctx context.Context, entries ...Entry) error {
	lock, err := w.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	if w.claim != "" {
		if _, err := os.Stat(w.claim); errors.Is(err, fs.ErrNotExist) {
			return errClaimed
		}
	}
	for try := range maxTries {
		if w.tx == nil {
			if err := w.begin(ctx); err != nil {
				return err
			}
		}
		if w.late != nil {
			if there, err := w.late.recorded(w.batch); err != nil {
				return err
			} else if there {
				return errors.Join(errClaimed, w.release())
			}
		}
		updates, err := w.build(entries)
		if err != nil {
			return err
		}
		tx := w.tx
		w.tx = nil
		if err = tx.Commit(updates); err == nil {
			return w.release()
		}
		if !errors.Is(err, git.ErrLostRace) && !w.lockedOut() && try >= 5 {
			return err
		}
		if err := git.Backoff(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: gave up after %d tries", git.ErrLostRace, maxTries)
}

// release removes the pending file while the lock is still held, so that no
// other process records the push again. A kill between the transaction and this
// leaves a file whose push is in the chain; reconcile finds it there.
func (w *Writer) release() error {
	if w.claim == "" {
		return nil
	}
	return removeFile(w.claim)
}

// Finish appends the record of a pending push and removes its file.
func (w *Writer) Finish(ctx context.Context, p *Pending) error {
	w.claim = p.path
	defer func() { w.claim = "" }()
	return w.Append(ctx, p.Entry)
}

// lock takes the writers' lock, which dies with the process that holds it.
func (w *Writer) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(w.repo.Dir, "ward", "audit.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// build writes the objects for entries on top of what the refs hold now.
func (w *Writer) build(entries []Entry) ([]git.RefUpdate, error) {
	last, tip, err := Last(w.batch)
	if err != nil {
		return nil, err
	}
	update := git.RefUpdate{Ref: ChainRef, Old: tip}
	audit := notes{writer: w, ref: NotesRef}
	lessons := notes{writer: w, ref: LessonsRef}
	for _, e := range entries {
		if err := e.follow(last); err != nil {
			return nil, err
		}
		if last != nil && last.Verdict == Refused {
			if e.Record.Repeats, err = Repeats(w.repo, last.ID); err != nil {
				return nil, err
			}
		}
		line, err := e.Record.Marshal()
		if err != nil {
			return nil, err
		}
		if tip, err = w.commit(tip, e.Record, line); err != nil {
			return nil, err
		}
		if e.Record.Verdict == Accepted {
			for _, object := range e.Record.Tips() {
				audit.add(object, string(line))
			}
			for _, l := range e.Lessons {
				lessons.add(l.Commit, l.Lines...)
			}
		}
		last = e.Record
	}
	update.New = tip
	updates := []git.RefUpdate{update}
	for _, n := range []*notes{&audit, &lessons} {
		u, err := n.build(last)
		if err != nil {
			return nil, err
		}
		if u.New != u.Old {
			updates = append(updates, u)
		}
	}
	return updates, nil
}

// follow gives a record its place in the chain and carries the retired ids on.
func (e *Entry) follow(last *Record) error {
	r := e.Record
	r.ID, r.Retired = 1, ""
	if last != nil {
		r.ID, r.Retired = last.ID+1, last.Retired
	}
	if r.Verdict != Accepted || len(e.Retired) == 0 {
		return nil
	}
	retired, err := comms.ParseSet(r.Retired)
	if err != nil {
		return fmt.Errorf("audit record %d: %w", r.ID-1, err)
	}
	for _, id := range e.Retired {
		if err := retired.Add(id); err != nil {
			return err
		}
	}
	r.Retired = retired.String()
	return nil
}

// Last is the newest record and the tip of the chain; nil and git.Zero for an
// empty one.
func Last(batch *git.Batch) (*Record, string, error) {
	tip, err := batch.Info(ChainRef)
	if errors.Is(err, git.ErrMissing) {
		return nil, git.Zero, nil
	}
	if err != nil {
		return nil, "", err
	}
	r, err := Read(batch, tip.ID)
	return r, tip.ID, err
}

// Retired are the directive ids that the newest record carries as used and gone.
func Retired(batch *git.Batch) (comms.Set, error) {
	last, _, err := Last(batch)
	if err != nil || last == nil {
		return comms.Set{}, err
	}
	return comms.ParseSet(last.Retired)
}

// maxRecord bounds a record; a push has at most a few thousand refs.
const maxRecord = 8 << 20

// Read is the record in one commit of the chain.
func Read(batch *git.Batch, commit string) (*Record, error) {
	data, err := readFile(batch, commit)
	if err != nil {
		return nil, fmt.Errorf("audit chain at %s: %w", commit, err)
	}
	return ParseRecord(data)
}

// readFile reads record.json in a commit of the chain, object by object: that
// way a hook needs no child for it.
func readFile(batch *git.Batch, commit string) ([]byte, error) {
	tree, err := treeOf(batch, commit)
	if err != nil {
		return nil, err
	}
	_, data, err := batch.Read(tree, 4096)
	if err != nil {
		return nil, err
	}
	entries, err := git.ParseTree(data)
	if err != nil {
		return nil, err
	}
	if len(entries) != 1 || entries[0].Name != recordFile {
		return nil, errors.New("the tree is not one record")
	}
	_, data, err = batch.Read(entries[0].ID, maxRecord)
	return data, err
}

func treeOf(batch *git.Batch, commit string) (string, error) {
	_, data, err := batch.Read(commit, 1<<20)
	if err != nil {
		return "", err
	}
	c, err := git.ParseCommit(data)
	if err != nil {
		return "", err
	}
	return c.Tree, nil
}

func (w *Writer) commit(parent string, r *Record, record []byte) (string, error) {
	blob, err := w.repo.WriteObject("blob", record)
	if err != nil {
		return "", err
	}
	content, err := git.FormatTree([]git.Entry{{Mode: git.ModeFile, Name: recordFile, ID: blob}})
	if err != nil {
		return "", err
	}
	tree, err := w.repo.WriteObject("tree", content)
	if err != nil {
		return "", err
	}
	return w.repo.WriteObject("commit", formatCommit(tree, parent, r, r.subject()))
}

// formatCommit is a commit by Ward at the record's time, so that the same record
// on the same parent is the same commit.
func formatCommit(tree, parent string, r *Record, message string) []byte {
	who := fmt.Sprintf("Ward <ward@localhost> %d +0000", r.Time.Unix())
	text := "tree " + tree + "\n"
	if parent != git.Zero {
		text += "parent " + parent + "\n"
	}
	return fmt.Appendf(nil, "%sauthor %s\ncommitter %s\n\n%s\n", text, who, who, message)
}
