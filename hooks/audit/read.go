package audit

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"git-ward/hooks/push"
	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/state"
)

// tip is the newest commit of the chain, git.Zero for an empty one.
func tip(batch *git.Batch) (string, error) {
	object, err := batch.Info(state.AuditRef)
	if errors.Is(err, git.ErrMissing) {
		return git.Zero, nil
	}
	return object.ID, err
}

// maxBroken is how many consecutive broken records are skipped in search of a readable one.
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

// Retired are the ids of removed directives that the newest record carries. They are never
// used again.
func Retired(batch *git.Batch) (comms.Set, error) {
	last, _, err := Last(batch)
	if err != nil || last == nil {
		return comms.Set{}, err
	}
	return comms.ParseSet(last.Retired)
}

// errRecord says that a commit of the chain has no record.
var errRecord = errors.New("not a record")

// Read reads the record in one commit of the chain.
func Read(batch *git.Batch, commit string) (*Record, error) {
	data, _, err := readFiles(batch, commit)
	if err != nil {
		return nil, err
	}
	return ParseRecord(data)
}

// attachments are the ids of files next to a record, "" for none.
type attachments struct{ settings, tombstone string }

// readFiles reads record.json and the files next to it in a commit of the chain, object by
// object, so that a hook needs no further child.
func readFiles(batch *git.Batch, commit string) (record []byte, also attachments, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("audit chain at %s: %w", commit, err)
		}
	}()
	tree, err := treeOf(batch, commit)
	if err != nil {
		return nil, also, err
	}
	_, data, err := batch.Read(tree, 4096)
	if err != nil {
		return nil, also, err
	}
	entries, err := git.ParseTree(data)
	if err != nil {
		return nil, also, err
	}
	if len(entries) > 1 && entries[0].Name == configFile {
		also.settings, entries = entries[0].ID, entries[1:]
	}
	if len(entries) > 1 && entries[0].Name == certificateFile {
		entries = entries[1:]
	}
	if n := len(entries) - 1; n > 0 && entries[n].Name == tombstoneFile {
		also.tombstone, entries = entries[n].ID, entries[:n]
	}
	if len(entries) != 1 || entries[0].Name != recordFile {
		for _, e := range entries { // a newer Ward may keep more beside it
			if e.Name != recordFile {
				continue
			}
			if _, record, err = batch.Read(e.ID, maxReadRecord); err != nil {
				return nil, also, err
			}
			if err = newer(record); err != nil {
				return nil, also, err
			}
		}
		return nil, also, fmt.Errorf("%w: the tree is not one record", errRecord)
	}
	_, record, err = batch.Read(entries[0].ID, maxReadRecord)
	return record, also, err
}

func treeOf(batch *git.Batch, commit string) (string, error) {
	c, err := readCommit(batch, commit)
	if err != nil {
		return "", err
	}
	return c.Tree, nil
}

// parent is a chain commit's parent, git.Zero for the first.
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

// recordsSince reads the records after the commit since (git.Zero: all), newest first, up to
// an error. It skips unreadable records, which git ward fsck reports.
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

// find looks for a push among the records after the commit since (git.Zero: all); nil if it is
// missing.
func find(batch *git.Batch, push, since string) (*Record, error) {
	for r, err := range recordsSince(batch, since) {
		if err != nil || r.Push == push {
			return r, err
		}
	}
	return nil, nil
}

// maxLook is how many of the newest records are searched for a push without a pending file.
const maxLook = 1000

// Recorded is the newest of the last thousand records for a push that made these moves
// (applied), or tried to; nil when there is none.
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
