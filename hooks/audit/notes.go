package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/lesson"
	"git-ward/protocols/state"
)

// notes collects lines for a notes ref and builds its next commit: one commit for each push,
// however many objects get a line (git-notes(1)).
//
// New notes are two levels deep (ab/cd/rest), so that a record's cost does not grow with their
// number. Notes that git itself has put elsewhere are extended where they are.
type notes struct {
	writer *Writer
	ref    string
	of     string   // the directive whose the lines are; "" for none, or several
	fresh  bool     // start from an empty tree
	last   int64    // position of the newest record
	order  []string // annotated objects, in order
	lines  map[string][]string
}

func (n *notes) add(object string, lines ...string) {
	if n.lines == nil {
		n.lines = map[string][]string{}
	}
	if _, ok := n.lines[object]; !ok {
		n.order = append(n.order, object)
	}
	n.lines[object] = append(n.lines[object], lines...)
}

// build writes the new tree and commit and returns the ref's update; Old and New are equal if
// there is nothing to write.
func (n *notes) build(last *Record) (git.RefUpdate, error) {
	u := git.RefUpdate{Ref: n.ref, Old: git.Zero}
	n.last = last.ID
	tree := ""
	tip, err := n.writer.batch.Info(n.ref)
	if err == nil {
		u.Old = tip.ID
		if !n.fresh {
			if tree, err = treeOf(n.writer.batch, tip.ID); err != nil && !isBad(err) {
				return u, err
			}
		}
	} else if !errors.Is(err, git.ErrMissing) {
		return u, err
	}
	if u.New = u.Old; len(n.order) == 0 {
		return u, nil
	}
	slices.Sort(n.order)
	before := tree
	tree, err = n.insert(tree, "", n.order)
	if isBad(err) { // only an index: start a new one; git ward fsck --repair fills it
		tree, err = n.insert("", "", n.order)
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w", n.ref, err)
	}
	if tree == before {
		return u, nil
	}
	message := fmt.Sprintf("Notes added by push %d", last.ID)
	if n.of != "" { // who reads a share of each directive's finds them without reading all
		message += "\n\n" + lesson.TrailerOf + ": " + n.of
	}
	u.New, err = n.writer.repo.CommitTree(git.Ward, tree, u.Old, last.Time, message)
	return u, err
}

// depth is how many two-digit directory levels new notes use.
const depth = 2

// insert adds notes of objects whose ids start with prefix to a tree ("" for an empty one) and
// returns the new tree.
func (n *notes) insert(tree, prefix string, objects []string) (string, error) {
	entries, err := n.writer.readTree(tree)
	if err != nil {
		return "", err
	}
	byName := make(map[string]git.Entry, len(entries)+1)
	for _, e := range entries {
		byName[e.Name] = e
	}
	for len(objects) > 0 {
		rest := objects[0][len(prefix):]
		e, ok := byName[rest]
		if _, deeper := byName[rest[:2]]; ok || (len(prefix) >= 2*depth && !deeper) {
			if e.ID, err = n.extend(e.ID, objects[0]); err != nil {
				return "", err
			}
			byName[rest] = git.Entry{Mode: git.ModeFile, Name: rest, ID: e.ID}
			objects = objects[1:]
			continue
		}
		sub := rest[:2]
		end := 1
		for end < len(objects) && strings.HasPrefix(objects[end][len(prefix):], sub) && byName[objects[end][len(prefix):]].ID == "" {
			end++
		}
		id, err := n.insert(byName[sub].ID, prefix+sub, objects[:end])
		if err != nil {
			return "", err
		}
		byName[sub] = git.Entry{Mode: git.ModeDir, Name: sub, ID: id}
		objects = objects[end:]
	}
	return n.writer.writeTree(byName)
}

// extend is a note blob with the object's new lines appended. A full note loses its oldest
// lines, and an unreadable one all: the chain has them.
func (n *notes) extend(blob, object string) (string, error) {
	var text []byte
	lost := false
	if blob != "" {
		_, old, err := n.writer.batch.Read(blob, MaxReadNote)
		if lost = isBad(err); err != nil && !lost {
			return "", err
		}
		text = old
	}
	if n.ref == state.AuditNotes {
		text = n.rotate(text, n.lines[object], lost)
	} else {
		text = appendNew(text, n.lines[object], maxLessons)
	}
	return n.writer.repo.WriteObject("blob", text)
}

// rotate appends lines to an audit note and drops the oldest if it would be too large.
func (n *notes) rotate(text []byte, lines []string, lost bool) []byte {
	note := ParseNote(text)
	if lost {
		note.Through = n.last - 1
	}
	have := map[string]bool{}
	size := 0
	for _, line := range note.Lines {
		have[line] = true
		size += len(line) + 1
	}
	for _, line := range lines {
		// A killed writer's transaction may have got this far.
		if !have[line] && (note.Through == 0 || recordID(line) > note.Through) {
			note.Lines = append(note.Lines, line)
			size += len(line) + 1
		}
	}
	if size > maxNote {
		for len(note.Lines) > 1 && size > maxNote/2 {
			note.Through = max(note.Through, recordID(note.Lines[0]))
			size -= len(note.Lines[0]) + 1
			note.Lines = note.Lines[1:]
		}
	}
	var b bytes.Buffer
	if note.Through > 0 {
		b.WriteString(rotated{state.AuditRef, note.Through}.line() + "\n")
	}
	for _, line := range note.Lines {
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}

// appendNew appends those of the lines that a text lacks, up to a size.
func appendNew(text []byte, lines []string, most int) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	have := map[string]bool{}
	for line := range bytes.Lines(text) {
		have[string(bytes.TrimSuffix(line, []byte("\n")))] = true
	}
	for _, line := range lines {
		if !have[line] && len(text)+len(line) < most {
			have[line] = true
			text = append(append(text, line...), '\n')
		}
	}
	return text
}

// isBad reports whether an error is about the object itself, so that reading it again would
// fail again.
func isBad(err error) bool {
	var form *git.FormError
	var large *git.TooLarge
	return errors.Is(err, git.ErrMissing) || errors.Is(err, git.ErrDamaged) || errors.Is(err, errRecord) || errors.As(err, &form) || errors.As(err, &large)
}

const maxNotesTree = 64 << 20

func (w *Writer) readTree(id string) ([]git.Entry, error) {
	if id == "" {
		return nil, nil
	}
	_, data, err := w.batch.Read(id, maxNotesTree)
	if err != nil {
		return nil, err
	}
	return git.ParseTree(data)
}

// writeTree stores a notes tree. Its names are hex digits, so plain order is
// git's order: no name is another's prefix up to a slash.
func (w *Writer) writeTree(byName map[string]git.Entry) (string, error) {
	entries := make([]git.Entry, 0, len(byName))
	for _, e := range byName {
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b git.Entry) int { return strings.Compare(a.Name, b.Name) })
	data, err := git.FormatTree(entries)
	if err != nil {
		return "", err
	}
	return w.repo.WriteObject("tree", data)
}

// RebuildNotes writes all notes anew from the records of the chain, as a child
// of the present notes commit, so that clones follow.
func (w *Writer) RebuildNotes(ctx context.Context, records []*Record) error {
	lock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	n := notes{writer: w, ref: state.AuditNotes, fresh: true}
	for _, r := range records {
		if r.Verdict != Accepted {
			continue
		}
		lines, err := r.NoteLines()
		if err != nil {
			return err
		}
		for object, line := range lines {
			n.add(object, line)
		}
	}
	u, err := n.build(records[len(records)-1])
	if err != nil || u.Old == u.New {
		return err
	}
	return w.repo.UpdateRefs(ctx, "ward: rebuild notes", u)
}
