package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/adler32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/lines"
)

// WriteObject stores one loose object in the repository itself, never in a push's quarantine, and
// returns its id (gitrepository-layout(5)). It writes a file instead of starting a child,
// because an audit record is eight objects.
//
// Like git by default it does not fsync loose objects; a crash of the machine
// can lose the newest records, which `git ward fsck` then names.
func (r *Repo) WriteObject(kind string, content []byte) (string, error) {
	var raw bytes.Buffer
	fmt.Fprintf(&raw, "%s %d\x00", kind, len(content))
	raw.Write(content)
	sum := sha1.Sum(raw.Bytes())
	id := hex.EncodeToString(sum[:])
	dir := filepath.Join(cmp.Or(r.beside, r.Dir+"/objects"), id[:2])
	path := filepath.Join(dir, id[2:])
	if _, err := os.Stat(path); err == nil {
		return id, nil
	}
	if err := r.makeFanOut(dir); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "tmp_obj_") // the name that git prune removes
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(stored(raw.Bytes()))
	if err = errors.Join(err, f.Chmod(0o444), f.Close()); err != nil {
		return "", err
	}
	return id, os.Rename(f.Name(), path)
}

// makeFanOut makes a directory of loose objects. In a shared repository its group
// writes there, too, whatever our umask is (core.sharedRepository).
func (r *Repo) makeFanOut(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	above, err := os.Stat(filepath.Dir(dir))
	if err != nil || above.Mode()&fs.ModeSetgid == 0 || above.Mode()&0o020 == 0 {
		return err
	}
	return os.Chmod(dir, above.Mode())
}

// Ward is the author of the host's own commits.
const Ward = "Ward <ward@localhost>"

// CommitFile stores a commit by Ward whose tree is one regular file, and returns
// its id; parent "" makes a first commit. Records are kept in chains of such
// commits.
func (r *Repo) CommitFile(parent, name string, data []byte, when time.Time, message string) (string, error) {
	return r.CommitFileAs(Ward, parent, name, data, when, message)
}

// CommitFileAs is CommitFile by another author, "Name <mail>".
func (r *Repo) CommitFileAs(who, parent, name string, data []byte, when time.Time, message string) (string, error) {
	blob, err := r.WriteObject("blob", data)
	if err != nil {
		return "", err
	}
	content, err := FormatTree([]Entry{{Mode: ModeFile, Name: name, ID: blob}})
	if err != nil {
		return "", err
	}
	tree, err := r.WriteObject("tree", content)
	if err != nil {
		return "", err
	}
	return r.CommitTree(who, tree, parent, when, message)
}

// CommitTree stores a commit of a tree, in UTC, and returns its id. The same
// arguments make the same commit. Parent "" or Zero makes a first one.
func (r *Repo) CommitTree(who, tree, parent string, when time.Time, message string) (string, error) {
	return r.CommitMerge(who, tree, []string{parent}, when, message)
}

// CommitMerge is CommitTree with any number of parents; those that are "" or Zero are
// left out.
func (r *Repo) CommitMerge(who, tree string, parents []string, when time.Time, message string) (string, error) {
	text := "tree " + tree + "\n"
	for _, parent := range parents {
		if parent != "" && parent != Zero {
			text += "parent " + parent + "\n"
		}
	}
	who = fmt.Sprintf("%s %d +0000", who, when.Unix())
	return r.WriteObject("commit", fmt.Appendf(nil, "%sauthor %s\ncommitter %s\n\n%s\n", text, who, who, message))
}

// BlobID is the object id of a blob with that content.
func BlobID(content []byte) string { return idOf("blob", content) }

func idOf(kind string, content []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// stored is a zlib stream (RFC 1950) of data in stored blocks (RFC 1951, 3.2.4).
// Setting up a compressor costs half a millisecond an object, more than all the
// rest of a record; git compresses the objects when it packs them.
func stored(data []byte) []byte {
	const maxBlock = 1<<16 - 1
	out := make([]byte, 2, len(data)+16)
	out[0], out[1] = 0x78, 0x01
	rest := data
	for {
		block := rest[:min(len(rest), maxBlock)]
		rest = rest[len(block):]
		final := byte(0)
		if len(rest) == 0 {
			final = 1
		}
		out = append(out, final)
		out = binary.LittleEndian.AppendUint16(out, uint16(len(block)))
		out = binary.LittleEndian.AppendUint16(out, ^uint16(len(block)))
		out = append(out, block...)
		if final == 1 {
			return binary.BigEndian.AppendUint32(out, adler32.Checksum(data))
		}
	}
}

// RefUpdate moves one ref from Old to New. Zero as Old creates it, Zero as New
// deletes it.
type RefUpdate struct{ Ref, Old, New string }

// ErrLostRace means that a ref was not at its old value.
var ErrLostRace = errors.New("a ref was moved by someone else")

// RefTx is a started `git update-ref --stdin`, waiting for its updates. Starting
// it early hides the cost of the child behind other work.
type RefTx struct {
	ctx  context.Context
	repo *Repo
	cmd  *Child
	in   interface {
		Write([]byte) (int, error)
		Close() error
	}
	errs lines.Head
}

// BeginUpdate starts the child. The caller ends it with Commit or Abort. The text goes into
// the refs' reflogs; "" writes none. A symbolic ref is moved or deleted itself, and never the
// ref that it names: a lease that somebody made a name of main must not take main with it.
func (r *Repo) BeginUpdate(ctx context.Context, reflog string) (*RefTx, error) {
	args := []string{"update-ref", "--no-deref", "-m", reflog, "--stdin", "-z"}
	if reflog == "" {
		args = []string{"-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", "--stdin", "-z"}
	}
	t := &RefTx{ctx: ctx, repo: r, cmd: r.writer(ctx, args...)}
	t.cmd.Env = append(t.cmd.Env, "GIT_COMMITTER_NAME=Ward", "GIT_COMMITTER_EMAIL=ward@localhost")
	t.cmd.Stderr = &t.errs
	in, err := t.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	t.in = in
	return t, t.cmd.Start()
}

// Abort ends the child without a change.
func (t *RefTx) Abort() {
	t.in.Close()
	t.cmd.Wait()
}

// Commit moves all refs in one transaction, or none. When git refuses, it compares the refs
// instead of reading git's words: if one is not at its old value, the error is ErrLostRace.
func (t *RefTx) Commit(updates []RefUpdate) error {
	var b bytes.Buffer
	b.WriteString("start\x00")
	for _, u := range updates {
		if u.New == Zero {
			fmt.Fprintf(&b, "delete %s\x00%s\x00", u.Ref, u.Old)
		} else {
			fmt.Fprintf(&b, "update %s\x00%s\x00%s\x00", u.Ref, u.New, u.Old)
		}
	}
	b.WriteString("commit\x00")
	_, writeErr := t.in.Write(b.Bytes())
	t.in.Close()
	err := errors.Join(t.cmd.Wait(), writeErr)
	if err == nil {
		return nil
	}
	err = ChildError(t.ctx, "update-ref", err, t.errs.Bytes())
	for _, u := range updates {
		now, lookErr := t.repo.Ref(t.ctx, u.Ref)
		if lookErr != nil {
			return errors.Join(err, lookErr)
		}
		if now != u.Old {
			return fmt.Errorf("%w: %s", ErrLostRace, u.Ref)
		}
	}
	return err
}

// UpdateRefs is BeginUpdate and Commit.
func (r *Repo) UpdateRefs(ctx context.Context, reflog string, updates ...RefUpdate) error {
	t, err := r.BeginUpdate(ctx, reflog)
	if err != nil {
		return err
	}
	return t.Commit(updates)
}

// Ref returns the object id that a ref points to, Zero when there is none.
func (r *Repo) Ref(ctx context.Context, ref string) (string, error) {
	if d := r.directReader(); d != nil && ctx.Err() == nil {
		if id, ok, err := d.ref(ref); ok && err == nil {
			return cmp.Or(id, Zero), nil
		}
	}
	out, err := r.Output(ctx, "for-each-ref", "--format=%(refname) %(objectname)", ref)
	if err != nil {
		return "", err
	}
	for line := range bytes.Lines(out) {
		if name, id, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); string(name) == ref {
			return string(id), nil
		}
	}
	return Zero, nil
}

// Direct resolves a revision of a simple form without a child: an id, a full ref or HEAD,
// perhaps with ^{commit}, ^{tree} or a path. It returns "" if the revision names nothing. With
// ok false, git has to be asked.
func (r *Repo) Direct(ctx context.Context, rev string) (id string, ok bool) {
	d := r.directReader()
	if d == nil || ctx.Err() != nil {
		return "", false
	}
	defer d.close()
	id, ok, err := d.find(rev)
	return id, ok && err == nil
}

// Head is the full name of the branch that HEAD names, "" where it names a commit itself.
func (r *Repo) Head(ctx context.Context) (string, error) {
	if d := r.directReader(); d != nil && ctx.Err() == nil {
		head, _, err := readRefFile(d.dir + "/HEAD")
		if _, ok, no := d.ref(head); err == nil && ok && no == nil {
			return head, nil
		}
	}
	out, err := r.Output(ctx, "symbolic-ref", "--quiet", "HEAD")
	if SaidNo(err) {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// Commit is the full id of the commit that a revision names (gitrevisions(7)).
func (r *Repo) Commit(ctx context.Context, rev string) (string, error) {
	batch := r.Batch(ctx)
	defer batch.Close()
	o, err := batch.Info(rev + "^{commit}")
	if errors.Is(err, ErrMissing) {
		return "", fmt.Errorf("%q is not a commit of %s", rev, r.Dir)
	}
	return o.ID, err
}
