package git

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// Tip is a ref and the object that it points to.
type Tip struct{ Name, ID string }

// Refs lists the refs below a prefix that ends in a slash, sorted by name.
func (r *Repo) Refs(ctx context.Context, prefix string) ([]Tip, error) {
	if d := r.directReader(); d != nil && ctx.Err() == nil {
		if tips, ok, err := d.refs(prefix); ok && err == nil {
			return tips, nil
		}
	}
	out, err := r.Output(ctx, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		return nil, err
	}
	var all []Tip
	for line := range bytes.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		all = append(all, Tip{name, id})
	}
	return all, nil
}

// maxNote is the most that Note reads, in bytes.
const maxNote = 64 << 20

// Note returns an object's note from a notes ref (git-notes(1)), nil when there is none.
func (r *Repo) Note(ctx context.Context, ref, object string) ([]byte, error) {
	reader := r.Reader(ctx)
	defer reader.Close()
	return reader.Note(ref, object, maxNote)
}

// AppendNote adds a line to an object's note, in Ward's name. Git does not retry, so the
// caller must allow only one writer for each notes ref.
func (r *Repo) AppendNote(ctx context.Context, ref, object string, line []byte) error {
	return r.writeNote(ctx, ref, object, line, "append")
}

// ReplaceNote replaces an object's note, in Ward's name.
func (r *Repo) ReplaceNote(ctx context.Context, ref, object string, note []byte) error {
	return r.writeNote(ctx, ref, object, note, "add", "--force")
}

func (r *Repo) writeNote(ctx context.Context, ref, object string, text []byte, verb ...string) error {
	args := append([]string{"-c", "user.name=Ward", "-c", "user.email=ward@localhost", "notes", "--ref=" + ref}, verb...)
	if _, err := r.OutputFrom(ctx, text, append(args, "--file=-", object)...); err != nil {
		return fmt.Errorf("%s of %.12s: %w", ref, object, err)
	}
	return nil
}
