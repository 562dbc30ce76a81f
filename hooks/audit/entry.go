package audit

import (
	"fmt"

	"git-ward/internal/git"
	"git-ward/protocols/comms"
	"git-ward/protocols/lesson"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Entry is a record to append, with the other changes that its accepted push makes.
type Entry struct {
	Record  *Record      `json:"record"`
	Retired []int        `json:"retired"` // ids of directives that the push removed
	Lessons []LessonNote `json:"lessons"`
	// Settings is the blob of the settings with the hash Record.Config; it is added to the
	// record's tree if they differ from the previous record's.
	Settings string `json:"settings,omitempty"`
	// Certificate is the blob of the push certificate that proved the pusher; it is added to
	// the record's tree.
	Certificate string `json:"certificate,omitempty"`
	// Tombstone is the blob that says what was redacted; it is added to the record's tree.
	Tombstone string `json:"-"`
	// Move makes the host's own ref updates that belong to the record.
	Move Mover `json:"-"`
}

// Mover makes the ref updates that go with a record, in one transaction, and puts them
// into the record. It is asked anew for each try; with no update, nothing is recorded.
type Mover interface {
	Move(*Record) ([]git.RefUpdate, error)
}

// LessonNote has the lines that a commit added to lessons.jsonl.
type LessonNote struct {
	Commit string   `json:"commit"`
	Lines  []string `json:"lines"`
}

// follow gives a record its position in the chain and takes over the retired ids.
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
		// The checks limit this, but with two concurrent pushes the later one may still exceed
		// the limit: its refs have moved, so it is recorded in any case.
		if retired.Add(id) != nil {
			break
		}
	}
	r.Retired = retired.String()
	return nil
}

// build writes the objects for a record on top of the refs' present values.
func (w *Writer) build(e *Entry) ([]git.RefUpdate, error) {
	last, old, err := Last(w.batch)
	if err != nil {
		return nil, err
	}
	var own []git.RefUpdate
	if e.Move != nil {
		if own, err = e.Move.Move(e.Record); err != nil || len(own) == 0 {
			return nil, err
		}
	}
	if err := e.follow(last); err != nil {
		return nil, err
	}
	e.Record.Repeats, e.Record.Beyond = 0, nil
	if last != nil {
		e.Record.Beyond = Beyond(w.repo, last.ID)
		if last.Verdict == Refused {
			e.Record.Repeats = Repeats(w.repo, last.ID)
		}
	}
	if e.Record.Beyond != nil {
		e.Record.Format = recordFormat
	}
	update := git.RefUpdate{Ref: state.AuditRef, Old: old}
	if update.New, err = w.commit(e, last, old); err != nil {
		return nil, err
	}
	updates, err := w.buildNotes(e)
	return append(append(own, update), updates...), err
}

// commit appends a record to the chain, with its settings if they have changed.
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
	if e.Certificate != "" {
		if _, err := w.batch.Info(e.Certificate); err == nil {
			entries = append(entries, git.Entry{Mode: git.ModeFile, Name: certificateFile, ID: e.Certificate})
		}
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
	if e.Tombstone != "" {
		entries = append(entries, git.Entry{Mode: git.ModeFile, Name: tombstoneFile, ID: e.Tombstone})
	}
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

// buildNotes writes the record's notes that are missing.
func (w *Writer) buildNotes(e *Entry) ([]git.RefUpdate, error) {
	if e.Record.Verdict != Accepted {
		return nil, nil
	}
	lines, err := e.Record.NoteLines()
	if err != nil {
		return nil, err
	}
	audit := notes{writer: w, ref: state.AuditNotes}
	for object, line := range lines {
		audit.add(object, line)
	}
	lessons := notes{writer: w, ref: lesson.Ref}
	for _, l := range e.Lessons {
		lessons.add(l.Commit, l.Lines...)
	}
	lessons.of = lessonsOf(e.Lessons)
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

// lessonsOf is the single directive whose lessons a push has, "" for none or several.
func lessonsOf(list []LessonNote) (directive string) {
	for _, note := range list {
		for _, line := range note.Lines {
			said, _ := lesson.Parse([]byte(line + "\n"))
			for _, l := range said {
				if !isDirective(l.TaskID) || directive != "" && directive != l.TaskID {
					return ""
				}
				directive = l.TaskID
			}
		}
	}
	return directive
}

func isDirective(name string) bool {
	_, err := uow.ParseID(name + ".1")
	return err == nil
}
