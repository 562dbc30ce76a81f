package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
)

// Entry is a record to append and what else its push, once accepted, changes.
type Entry struct {
	Record  *Record      `json:"record"`
	Retired []int        `json:"retired"` // directive ids that the push removed
	Lessons []LessonNote `json:"lessons"`
	// Settings is the blob with the settings that Record.Config is the hash of; it
	// enters the tree of the record when they are others than the last record's.
	Settings string `json:"settings,omitempty"`
	// Certificate is the blob with the push certificate that proved the pusher's
	// name; it enters the tree of the record.
	Certificate string `json:"certificate,omitempty"`
	// Move makes a ref update of the host's own that happens with the record, in
	// one transaction, and puts it into the record. It runs anew for each try; with
	// no update, nothing is recorded.
	Move func(*Record) (*git.RefUpdate, error) `json:"-"`
}

// LessonNote is the lines that a commit added to lessons.jsonl.
type LessonNote struct {
	Commit string   `json:"commit"`
	Lines  []string `json:"lines"`
}

// Writer appends records. Its child is started early, so that its start is
// hidden behind the caller's own work.
type Writer struct {
	repo  *git.Repo
	batch *git.Batch
	tx    *git.RefTx
}

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

// Append writes a record to the chain and its notes in one transaction, and sets
// the record's id.
func (w *Writer) Append(ctx context.Context, e Entry) error {
	lock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	since, err := tip(w.batch)
	if err != nil {
		return err
	}
	return w.append(ctx, &e, since)
}

// Finish appends the record of a pending push and removes its file. Where
// somebody else was faster, the pending record becomes theirs.
func (w *Writer) Finish(ctx context.Context, p *Pending) error {
	lock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := os.Stat(p.path); errors.Is(err, fs.ErrNotExist) {
		there, err := find(w.batch, p.Record.Push, p.Since)
		if err == nil && there == nil {
			err = fmt.Errorf("the pending file of push %s is gone, but it is not in the audit", p.Record.Push)
		}
		if err == nil {
			p.Record = there
		}
		return err
	}
	if err := w.append(ctx, &p.Entry, p.Since); err != nil {
		return err
	}
	// Still under the lock: the file is what says that a push is not recorded.
	return removeFile(p.path)
}

// append moves the refs. The lock keeps writers from racing each other in vain;
// the compare-and-swap keeps them right (GIT-1).
//
// Git moves the refs of a transaction one after the other, the chain first, and
// a writer that was killed leaves its update-ref running or, killed too, half
// done. So each try looks whether the record stands in the chain by now, and then
// only completes what goes with it.
func (w *Writer) append(ctx context.Context, e *Entry, since string) error {
	for try := range maxTries {
		there, err := find(w.batch, e.Record.Push, since)
		if err != nil {
			return err
		}
		var updates []git.RefUpdate
		if there != nil {
			e.Record = there
			updates, err = w.buildNotes(e)
		} else {
			updates, err = w.build(e)
		}
		if err != nil || len(updates) == 0 {
			return err
		}
		if w.tx == nil {
			if err := w.begin(ctx); err != nil {
				return err
			}
		}
		tx := w.tx
		w.tx = nil
		if err = tx.Commit(updates); err == nil {
			return nil
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

// find looks for a push among the records after the commit since of the chain
// (git.Zero: all of them); nil when it is not there.
func find(batch *git.Batch, push, since string) (*Record, error) {
	for r, err := range recordsSince(batch, since) {
		if err != nil || r.Push == push {
			return r, err
		}
	}
	return nil, nil
}

// maxLook is how many of the newest records are searched for a push that left no
// pending file.
const maxLook = 1000

// Recorded is the newest record, of the last thousand, of a push that made these
// moves (applied) or wanted to; nil when there is none.
func Recorded(batch *git.Batch, moves []push.Update, applied bool) (*Record, error) {
	looked := 0
	for r, err := range recordsSince(batch, git.Zero) {
		if err != nil {
			return nil, err
		}
		if looked++; looked > maxLook {
			break
		}
		had := map[push.Update]bool{}
		for _, ref := range r.Refs {
			if ref.Applied == applied {
				had[ref.Update] = true
			}
		}
		if !slices.ContainsFunc(moves, func(u push.Update) bool { return !had[u] }) {
			return r, nil
		}
	}
	return nil, nil
}

// recordsSince reads the records after the commit since of the chain (git.Zero: all
// of them), the newest first, up to an error. Records that cannot be read are passed
// over: git ward fsck names them.
func recordsSince(batch *git.Batch, since string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		id, err := tip(batch)
		for err == nil && id != since && id != git.Zero {
			var r *Record
			if r, err = Read(batch, id); err != nil && !isBad(err) {
				break
			}
			if err == nil && !yield(r, nil) {
				return
			}
			id, err = parent(batch, id)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// lockPatience is how long a writer waits for the others at most. Each of them
// takes milliseconds; one that was stopped in the middle must not stop everybody.
const lockPatience = 20 * time.Second

// lock takes the writers' lock, which dies with the process that holds it. The
// kernel hands it on in the order of asking; so it is asked once, by a goroutine that
// nobody waits for longer than lockPatience.
func (w *Writer) lock(ctx context.Context) (*os.File, error) {
	dir := filepath.Join(w.repo.Dir, "ward")
	f, err := os.OpenFile(filepath.Join(dir, "audit.lock"), os.O_CREATE|os.O_RDWR, ownMode)
	if err != nil {
		return nil, err
	}
	if mode := fileMode(dir); mode != ownMode {
		f.Chmod(mode) // only its maker may, and need
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return f, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	locked := make(chan error)
	go func() {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		for errors.Is(err, unix.EINTR) {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		select {
		case locked <- err:
		case <-ctx.Done():
			f.Close() // and with it the lock
		}
	}()
	select {
	case err := <-locked:
		if err != nil {
			f.Close()
			return nil, err
		}
		return f, nil
	case <-ctx.Done():
		return nil, errors.New("another process holds ward/audit.lock, and does not let go")
	}
}

// build writes the objects for a record on top of what the refs hold now.
func (w *Writer) build(e *Entry) ([]git.RefUpdate, error) {
	last, old, err := Last(w.batch)
	if err != nil {
		return nil, err
	}
	var own []git.RefUpdate
	if e.Move != nil {
		u, err := e.Move(e.Record)
		if err != nil || u == nil {
			return nil, err
		}
		own = append(own, *u)
	}
	if err := e.follow(last); err != nil {
		return nil, err
	}
	e.Record.Repeats = 0
	if last != nil && last.Verdict == Refused {
		e.Record.Repeats = Repeats(w.repo, last.ID)
	}
	update := git.RefUpdate{Ref: ChainRef, Old: old}
	if update.New, err = w.commit(e, last, old); err != nil {
		return nil, err
	}
	updates, err := w.buildNotes(e)
	return append(append(own, update), updates...), err
}

// commit stores a record on top of the chain, with the settings that it was judged
// by where they are others than before.
func (w *Writer) commit(e *Entry, last *Record, old string) (string, error) {
	e.Record.fit()
	var entries []git.Entry
	if e.Record.Config != "" && (last == nil || last.Config != e.Record.Config) {
		if _, err := w.batch.Info(e.Settings); err == nil {
			entries = []git.Entry{{Mode: git.ModeFile, Name: configFile, ID: e.Settings}}
		} else {
			e.Record.Config = "" // better none than one that nobody can look up
		}
	}
	if _, err := w.batch.Info(e.Certificate); e.Certificate != "" && err == nil {
		entries = append(entries, git.Entry{Mode: git.ModeFile, Name: certificateFile, ID: e.Certificate})
	}
	line, err := e.Record.Marshal()
	if err != nil {
		return "", err
	}
	if len(line) > maxRecord {
		return "", fmt.Errorf("the record of push %s would have %d bytes, more than %d", e.Record.Push, len(line), maxRecord)
	}
	blob, err := w.repo.WriteObject("blob", line)
	if err != nil {
		return "", err
	}
	entries = append(entries, git.Entry{Mode: git.ModeFile, Name: recordFile, ID: blob})
	content, err := git.FormatTree(entries)
	if err != nil {
		return "", err
	}
	tree, err := w.repo.WriteObject("tree", content)
	if err != nil {
		return "", err
	}
	return w.repo.CommitTree(git.Ward, tree, old, e.Record.Time, e.Record.subject())
}

// buildNotes writes the notes that go with a record, where they are not there
// already.
func (w *Writer) buildNotes(e *Entry) ([]git.RefUpdate, error) {
	if e.Record.Verdict != Accepted {
		return nil, nil
	}
	lines, err := e.Record.NoteLines()
	if err != nil {
		return nil, err
	}
	audit := notes{writer: w, ref: NotesRef}
	for object, line := range lines {
		audit.add(object, line)
	}
	lessons := notes{writer: w, ref: LessonsRef}
	for _, l := range e.Lessons {
		lessons.add(l.Commit, l.Lines...)
	}
	var updates []git.RefUpdate
	for _, n := range []*notes{&audit, &lessons} {
		u, err := n.build(e.Record)
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
		// The checks refuse what would be too much; of two pushes at once the later
		// one can still be: its refs have moved, so its record is made in any case.
		if retired.Add(id) != nil {
			break
		}
	}
	r.Retired = retired.String()
	return nil
}

// tip is the newest commit of the chain, git.Zero for an empty one.
func tip(batch *git.Batch) (string, error) {
	object, err := batch.Info(ChainRef)
	if errors.Is(err, git.ErrMissing) {
		return git.Zero, nil
	}
	return object.ID, err
}

// maxBroken is how many broken records in a row are passed over in search of one
// that can be read.
const maxBroken = 1000

// Last is the newest record that can be read, and the tip of the chain; nil and
// git.Zero for an empty one. Its ID is the tip's position: where newer records are
// broken it stands in for them, and is nobody's refusal to be repeated.
func Last(batch *git.Batch) (*Record, string, error) {
	top, err := tip(batch)
	if err != nil || top == git.Zero {
		return nil, top, err
	}
	id := top
	for skipped := range int64(maxBroken) {
		r, err := Read(batch, id)
		if err == nil {
			if r.ID += skipped; skipped > 0 {
				r.Verdict = ""
			}
			return r, top, nil
		}
		if !isBad(err) {
			return nil, top, err
		}
		if id, err = parent(batch, id); err != nil {
			return nil, top, err
		}
		if id == git.Zero {
			return &Record{ID: skipped + 1}, top, nil
		}
	}
	return nil, top, fmt.Errorf("the newest %d records of the audit are broken: git ward fsck", maxBroken)
}

// Retired are the directive ids that the newest record carries as used and gone.
func Retired(batch *git.Batch) (comms.Set, error) {
	last, _, err := Last(batch)
	if err != nil || last == nil {
		return comms.Set{}, err
	}
	return comms.ParseSet(last.Retired)
}

// errRecord is of a commit of the chain that does not hold a record.
var errRecord = errors.New("not a record")

// Read is the record in one commit of the chain.
func Read(batch *git.Batch, commit string) (*Record, error) {
	data, _, err := ReadFiles(batch, commit)
	if err != nil {
		return nil, err
	}
	return ParseRecord(data)
}

// ReadFiles reads record.json in a commit of the chain, and the id of config.toml
// beside it ("": none), object by object: that way a hook needs no child for it.
func ReadFiles(batch *git.Batch, commit string) (record []byte, settings string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("audit chain at %s: %w", commit, err)
		}
	}()
	tree, err := treeOf(batch, commit)
	if err != nil {
		return nil, "", err
	}
	_, data, err := batch.Read(tree, 4096)
	if err != nil {
		return nil, "", err
	}
	entries, err := git.ParseTree(data)
	if err != nil {
		return nil, "", err
	}
	if len(entries) > 1 && entries[0].Name == configFile {
		settings, entries = entries[0].ID, entries[1:]
	}
	if len(entries) > 1 && entries[0].Name == certificateFile {
		entries = entries[1:]
	}
	if len(entries) != 1 || entries[0].Name != recordFile {
		return nil, "", fmt.Errorf("%w: the tree is not one record", errRecord)
	}
	_, record, err = batch.Read(entries[0].ID, maxReadRecord)
	return record, settings, err
}

func treeOf(batch *git.Batch, commit string) (string, error) {
	c, err := readCommit(batch, commit)
	if err != nil {
		return "", err
	}
	return c.Tree, nil
}

// parent is the commit before one of the chain, git.Zero for the first.
func parent(batch *git.Batch, commit string) (string, error) {
	c, err := readCommit(batch, commit)
	if err != nil || len(c.Parents) == 0 {
		return git.Zero, err
	}
	return c.Parents[0], nil
}

func readCommit(batch *git.Batch, id string) (*git.Commit, error) {
	_, data, err := batch.Read(id, 1<<20)
	if err != nil {
		return nil, err
	}
	return git.ParseCommit(data)
}
