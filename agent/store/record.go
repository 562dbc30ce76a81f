package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// Record is the record of one unit: all that it leaves beside the work (REC-2). It
// lies in the object store of the work's clone and has no working tree of its own;
// what is committed here moves to the remote with the next push of the Work.
type Record struct {
	work *Work
	id   uow.ID
	// local keeps the record in this clone: nobody has a unit, so no remote takes it.
	local bool

	tip, tree string // of the newest commit here
	remote    string // the newest one that the remote has, "" before the first push

	shown []string // the last argument of Show

	batch   *git.Batch // reads objects, nil until needed
	reading context.Context
}

// recordSize bounds one file that is read from a record, in bytes.
const recordSize = 64 << 20

// maxSubject is how long the first line of a commit's message may be, in bytes, as
// git's own tools show it.
const maxSubject = 72

// Unit is the unit whose record it is.
func (r *Record) Unit() uow.ID { return r.id }

// Ref is the full name of the record's ref.
func (r *Record) Ref() string { return record.Ref(r.id) }

// tracking is the clone's copy of the remote's ref as of the last fetch.
func tracking(id uow.ID) string { return recordRefs + id.String() }

// recordRefs are the remote's records in a clone.
const recordRefs = "refs/remotes/ward/record/"

// Tip is the newest commit here.
func (r *Record) Tip() string { return r.tip }

// Message is the message of a commit of the record: a subject on one line, text, which
// may be "", and trailers such as "Ward-Iteration: 3". The directive's comes by itself.
// What keeping for the unit has brought is among them: that outlives what is kept, and this process.
func (r *Record) Message(subject, text string, trailers ...string) string {
	trailers = append([]string{record.TrailerDirective + ": " + r.work.Directive.Name()}, trailers...)
	if n := r.work.clone.store.keepingOf(r.id).brought.Load(); n > 0 {
		trailers = append(trailers, fmt.Sprintf("%s: %d", trailerKeptSize, n))
	}
	return message(subject, text, trailers)
}

// message puts a commit's message together.
func message(subject, text string, trailers []string) string {
	var b strings.Builder
	b.WriteString(oneLine(subject) + "\n\n")
	if text = cleanLines(diag.Cut(text, textSize)); text != "" {
		b.WriteString(text + "\n\n")
	}
	return b.String() + strings.Join(trailers, "\n")
}

// oneLine is a subject that every log viewer can show.
func oneLine(s string) string {
	return diag.Clean(diag.Cut(strings.Join(strings.Fields(s), " "), maxSubject))
}

// Commit makes a commit on the newest one and returns its id. The second parent is the
// commit of the work that it speaks of, "" for none. Files are put in by their paths
// in the record; nil content takes one out. If no file
// differs and second is "", it makes none and returns the newest one's id.
func (r *Record) Commit(ctx context.Context, message, second string, files map[string][]byte) (string, error) {
	for name := range files {
		if !record.Listed(r.id.Directive, name) {
			return "", fmt.Errorf("%s: a record holds no such file", name)
		}
	}
	tree, err := r.objects(ctx).EditTree(r.tree, r.redacted(files))
	if err != nil {
		return "", err
	}
	if tree == r.tree && second == "" && r.tip != "" {
		return r.tip, nil
	}
	commit, err := r.commitTree(tree, second, message)
	if err != nil {
		return "", err
	}
	return commit, r.moveTo(ctx, commit, tree)
}

// commitTree commits a tree on top of the newest commit.
func (r *Record) commitTree(tree, second, message string) (string, error) {
	text := r.work.clone.store.redact(strings.TrimSpace(message))
	return r.work.clone.repo().CommitMerge(record.AgentIdent, tree, []string{r.tip, second}, time.Now(), text)
}

// moveTo makes a commit the newest one, in memory and in the clone's ref.
func (r *Record) moveTo(ctx context.Context, commit, tree string) error {
	if commit == r.tip {
		return nil
	}
	old := cmp.Or(r.tip, git.Zero)
	if err := r.work.clone.moveRef(ctx, "ward: record", git.RefUpdate{Ref: r.Ref(), Old: old, New: commit}); err != nil {
		return err
	}
	r.tip, r.tree = commit, tree
	return nil
}

// objects reads the clone's objects with one child per context.
func (r *Record) objects(ctx context.Context) *git.Batch {
	if r.batch != nil && r.reading == ctx {
		return r.batch
	}
	r.close()
	r.batch, r.reading = r.work.clone.repo().Batch(ctx), ctx
	return r.batch
}

// close ends the child.
func (r *Record) close() {
	if r.batch != nil {
		r.batch.Close()
		r.batch, r.reading = nil, nil
	}
}

// File reads a file of the newest commit, nil when there is none.
func (r *Record) File(ctx context.Context, path string) ([]byte, error) {
	return r.read(ctx, r.tip, r.Ref(), path)
}

// read reads a file of a commit by any revision, nil if it is missing. Errors name the ref.
func (r *Record) read(ctx context.Context, commit, ref, path string) ([]byte, error) {
	object, data, err := r.objects(ctx).Read(commit+":"+path, recordSize)
	switch {
	case errors.Is(err, git.ErrMissing):
		return nil, nil
	case err != nil:
		r.close()
		return nil, fmt.Errorf("%s of %s: %w", path, ref, err)
	case object.Kind != "blob":
		return nil, nil
	}
	return data, nil
}

// Files reads many files of the newest commit as File does.
func (r *Record) Files(ctx context.Context) (read func(path string) ([]byte, error), done func() error) {
	return func(path string) ([]byte, error) { return r.File(ctx, path) }, func() error { return nil }
}

// List names the entries of a directory of the newest commit, sorted; none where it is
// not there.
func (r *Record) List(ctx context.Context, dir string) ([]string, error) {
	entries, err := r.entries(ctx, r.tip+":"+dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, err
}

// entries reads a tree by any revision; none if it is missing.
func (r *Record) entries(ctx context.Context, name string) ([]git.Entry, error) {
	object, data, err := r.objects(ctx).Read(name, recordSize)
	if errors.Is(err, git.ErrMissing) {
		return nil, nil
	}
	if err != nil {
		r.close()
		return nil, err
	}
	if object.Kind != "tree" {
		return nil, fmt.Errorf("%s is a %s, and no directory", name, object.Kind)
	}
	return git.ParseTree(data)
}

// walk calls visit for each file below a directory of a tree, "" for all of it.
func (r *Record) walk(ctx context.Context, tree, dir string, visit func(path string, e git.Entry) error) error {
	entries, err := r.entries(ctx, tree+":"+dir)
	for _, e := range entries {
		if err != nil {
			return err
		}
		if name := path.Join(dir, e.Name); e.IsDir() {
			err = r.walk(ctx, tree, name, visit)
		} else {
			err = visit(name, e)
		}
	}
	return err
}
