package state

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"git-ward/internal/diag"
	"git-ward/protocols/uow"
)

// MaxJournal is how many records of one journal are read at most.
const MaxJournal = 100_000

// Unit is a unit of work and the newest commit of its journal.
type Unit struct {
	ID  uow.ID
	Tip string // object id
}

// Units lists the units by directive and number. Strangers are refs among them
// that name no unit, sorted: no push puts them there.
func Units(r Reader) (units []Unit, strangers []string, err error) {
	refs, err := r.Refs(uow.RefPrefix)
	if err != nil {
		return nil, nil, err
	}
	for ref, tip := range refs {
		if id, err := uow.ParseRef(ref); err == nil {
			units = append(units, Unit{id, tip})
		} else {
			strangers = append(strangers, ref)
		}
	}
	slices.SortFunc(units, func(a, b Unit) int { return a.ID.Compare(b.ID) })
	slices.Sort(strangers)
	return units, strangers, nil
}

// Newest is the newest unit of a directive, nil for none. One that was it before is looked at by
// its number, as are those after it, each of which has one more; 0 lists them all.
func Newest(r Reader, directive string, before int) (newest *Unit, err error) {
	for id := (uow.ID{Directive: directive, K: before}); before > 0; id.K++ {
		tip, err := r.Tip(id.Ref())
		if err != nil {
			return nil, err
		}
		if tip == "" {
			break
		}
		newest = &Unit{id, tip}
	}
	if newest != nil {
		return newest, nil
	}
	units, _, err := Units(r)
	for i, u := range units {
		if u.ID.Directive == directive {
			newest = &units[i]
		}
	}
	return newest, err
}

// BrokenRecord is a record that nobody can read.
type BrokenRecord struct {
	Commit string
	Err    error
}

func (e *BrokenRecord) Error() string {
	return fmt.Sprintf("the stored record %s is broken: %v", diag.Short(e.Commit), e.Err)
}

func (e *BrokenRecord) Unwrap() error { return e.Err }

// Reason is the reason code of the breach that a broken record in a journal is.
func (e *BrokenRecord) Reason() uow.Reason {
	if errors.Is(e.Err, ErrFollows) {
		return uow.PrevMismatch
	}
	return uow.HashMismatch
}

// ErrFollows means that a record does not follow the one before it.
var ErrFollows = errors.New("it does not follow the record before it")

// Record reads the record of one commit of a journal. A broken one is a
// *BrokenRecord.
func Record(r Reader, commit string) (*uow.Record, error) {
	data, err := recordFile(r, commit)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, broken(commit, fmt.Errorf("it has no %s of at most %d bytes", uow.File, uow.MaxRecord))
	}
	record, err := uow.ParseRecord(data)
	if err != nil {
		return nil, broken(commit, err)
	}
	return record, nil
}

func broken(commit string, err error) error {
	return diag.Hint(&BrokenRecord{commit, err}, "git ward fsck on the host names what is broken")
}

// recordFile is a record's bytes, nil when there is no file of a record's size.
func recordFile(r Reader, commit string) ([]byte, error) {
	data, err := r.File(commit, uow.File, uow.MaxRecord)
	if errors.Is(err, diag.ErrTooLarge) {
		return nil, nil
	}
	return data, err
}

// Last is a unit's newest record, nil when there is no such unit.
func Last(r Reader, id uow.ID) (*uow.Record, error) {
	tip, err := r.Tip(id.Ref())
	if err != nil || tip == "" {
		return nil, err
	}
	return Record(r, tip)
}

// commits walks a journal from its tip down, newest first.
func commits(r Reader, tip string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for n := 0; tip != ""; n++ {
			if n == MaxJournal {
				yield("", fmt.Errorf("a journal of more than %d records", MaxJournal))
				return
			}
			if !yield(tip, nil) {
				return
			}
			parent, err := r.Parent(tip)
			if err != nil {
				yield("", err)
				return
			}
			tip = parent
		}
	}
}

// History reads a journal's records from its tip down, newest first, and no more
// of them than the caller takes. A broken one is a *BrokenRecord in its turn.
func History(r Reader, tip string) iter.Seq2[*uow.Record, error] {
	return func(yield func(*uow.Record, error) bool) {
		for commit, err := range commits(r, tip) {
			var record *uow.Record
			if err == nil {
				record, err = Record(r, commit)
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// Journal is a unit's whole journal, proved record by record (uow.Validate).
type Journal struct {
	Unit
	Commits  []string          // object ids, oldest first
	Records  []*uow.Record     // oldest first, those before the first broken one
	Findings []diag.Diagnostic // what is wrong with that one; none when all hold
}

// ReadJournal reads and proves a unit's journal. What does not hold is among its
// findings; the error is for what could not be read at all.
func ReadJournal(r Reader, u Unit) (*Journal, error) {
	j := &Journal{Unit: u}
	for commit, err := range commits(r, u.Tip) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", u.ID, err)
		}
		j.Commits = append(j.Commits, commit)
	}
	slices.Reverse(j.Commits)
	files := make([][]byte, len(j.Commits))
	for i, commit := range j.Commits {
		var err error
		if files[i], err = recordFile(r, commit); err != nil {
			return nil, fmt.Errorf("%s: %w", u.ID, err)
		}
	}
	j.Records, j.Findings = uow.Validate(u.ID, files)
	return j, nil
}

// Last is the newest record; a journal that holds has one.
func (j *Journal) Last() *uow.Record { return j.Records[len(j.Records)-1] }

// Err is the journal's first finding as an error, nil when the journal holds.
func (j *Journal) Err() error {
	if len(j.Findings) == 0 {
		return nil
	}
	return diag.Hint(fmt.Errorf("%s: %s", j.ID, j.Findings[0].Message), "git ward fsck on the host names what is broken")
}

// Claimed is the record of a journal that last asked for a verdict on a claim (see
// uow.Record.Asks), nil when it has none. Others may follow it: the PM's heartbeat, a
// pause and its end, a retry.
func Claimed(r Reader, tip string) (*uow.Record, error) {
	var after *uow.Record
	for record, err := range History(r, tip) {
		switch {
		case err != nil || record.Event == uow.MakeClaim:
			if after != nil && err == nil && after.Asks(record) {
				return after, nil
			}
			return record, err
		case after != nil && after.Asks(record):
			return after, nil
		}
		after = record
	}
	return nil, nil
}

// Claims are the commits that a journal claimed: the newest limit of them, oldest
// first, each once. Broken records claim nothing.
func Claims(r Reader, tip string, limit int) ([]string, error) {
	var list []string
	for record, err := range History(r, tip) {
		if _, ok := errors.AsType[*BrokenRecord](err); ok {
			continue
		}
		if err != nil {
			return nil, err
		}
		if record.Event == uow.MakeClaim && !slices.Contains(list, record.Claim.Commit) {
			if list = append(list, record.Claim.Commit); len(list) == limit {
				break
			}
		}
	}
	slices.Reverse(list)
	return list, nil
}
