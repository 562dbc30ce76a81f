package fold

import (
	"context"
	"fmt"
	"slices"

	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// look is the repository as one turn reads it.
type look struct {
	reader *git.Reader
	tips   map[string]string // of the records, by ref
	marks  map[string]string // blobs of refs/ward/folded, by ref
}

func (f *Fold) look(ctx context.Context) (l *look, err error) {
	l = &look{reader: f.Repo.Reader(ctx)}
	if l.tips, err = l.reader.Refs(record.Prefix); err == nil {
		l.marks, err = l.reader.Refs(record.FoldedPrefix)
	}
	if err != nil {
		l.reader.Close()
	}
	return l, err
}

// read lists the pending messages in folding order, without units in skip, and the tips of the
// records that have none.
func (f *Fold) read(ctx context.Context, skip map[uow.ID]error) (list []record.Pending, done map[string]string, err error) {
	l, err := f.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer l.reader.Close()
	done = map[string]string{}
	var units [][]record.Pending
	for _, unit := range l.units() {
		ref := record.Ref(unit)
		if skip[unit] != nil {
			continue
		}
		if f.done[ref] == l.tips[ref] {
			done[ref] = l.tips[ref]
			continue
		}
		list, err := f.pending(l, unit, l.tips[ref])
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil { // other units' messages are still folded
			f.Log.Error().Str("unit", unit.String()).Err(err).Msg("what a record says cannot be folded")
			skip[unit] = fmt.Errorf("what %s says cannot be folded: %w", ref, err)
			continue
		}
		if len(list) == 0 {
			done[ref] = l.tips[ref]
			continue
		}
		units = append(units, list)
	}
	return order(units), done, nil
}

// units are those with a record, in the host's order. A malformed ref among them is for fsck
// to report.
func (l *look) units() (list []uow.ID) {
	for ref := range l.tips {
		if unit, err := record.ParseRef(ref); err == nil {
			list = append(list, unit)
		}
	}
	slices.SortFunc(list, compareUnits)
	return list
}

// pending lists one record's pending messages, without void ones.
func (f *Fold) pending(l *look, unit uow.ID, tip string) ([]record.Pending, error) {
	entries, err := l.reader.Entries(tip, record.Messages)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	_, folded, err := l.mark(unit)
	if err != nil {
		return nil, err
	}
	var list []record.Pending
	for number := folded + 1; number <= min(len(entries), folded+maxBatch); number++ {
		data, err := l.reader.File(tip, record.MessagePath(number), comms.MaxMessageBytes)
		if err != nil {
			return nil, err
		}
		p, err := record.ReadPending(unit, number, data)
		if err != nil {
			f.Log.Warn().Str("message", p.Name()).Err(err).Msg("a message cannot be read, and is passed over")
		}
		list = append(list, p)
	}
	return list, nil
}

// mark reads how far a unit is folded, and the blob that says so; git.Zero for none.
func (l *look) mark(unit uow.ID) (blob string, folded int, err error) {
	if blob = l.marks[record.FoldedRef(unit)]; blob == "" {
		return git.Zero, 0, nil
	}
	data, err := l.reader.Blob(blob, maxMark)
	if err == nil {
		folded, err = record.ParseFolded(unit, data)
	}
	return blob, folded, err
}

// maxMark bounds a mark, in bytes.
const maxMark = 4 << 10
