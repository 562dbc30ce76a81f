package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// ErrMissing is what a Batch answers for an object that is not there.
var ErrMissing = errors.New("no such object")

// Object is what git says about an object before its content is read.
type Object struct {
	ID   string
	Kind string // commit, tree, blob or tag
	Size int64  // inflated, bytes
}

// TooLarge is the error for an object over the caller's limit.
type TooLarge struct {
	Object Object
	Limit  int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s %s has %d bytes, more than the limit of %d", e.Object.Kind, e.Object.ID, e.Object.Size, e.Limit)
}

// Batch is a running `git cat-file --batch-command`: one child that answers for
// every object of a push. It is not safe for concurrent use. After any error
// but ErrMissing and TooLarge it is dead and says so again.
type Batch struct {
	ctx    context.Context
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errs   tail
	broken error
}

// Batch starts the child. Close it.
func (r *Repo) Batch(ctx context.Context) (*Batch, error) {
	b := &Batch{ctx: ctx, cmd: r.reader(ctx, "cat-file", "--batch-command")}
	b.cmd.Stderr = &b.errs
	in, err := b.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.in, b.out = in, bufio.NewReaderSize(out, 64<<10)
	if err := r.start(b.cmd); err != nil {
		return nil, err
	}
	return b, nil
}

// Close ends the child. An error already reported is not reported again.
func (b *Batch) Close() error {
	b.in.Close()
	err := b.cmd.Wait()
	if b.broken != nil || err == nil {
		return nil
	}
	return childError(b.ctx, "cat-file", err, b.errs.data)
}

// Limit puts limits on the running child, for callers that start it before they
// know them. Alloc has no effect any more.
func (b *Batch) Limit(l Limits) error { return l.Apply(b.cmd.Process.Pid) }

// Info asks for an object's id, kind and size without its content; name is an
// object id or a full ref name. A missing object is ErrMissing.
func (b *Batch) Info(name string) (Object, error) {
	return b.ask("info", name)
}

// Read returns an object of at most limit bytes. A larger one is TooLarge and
// is not inflated.
func (b *Batch) Read(name string, limit int64) (Object, []byte, error) {
	o, err := b.Info(name)
	if err != nil {
		return o, nil, err
	}
	if o.Size > limit {
		return o, nil, &TooLarge{o, limit}
	}
	if o, err = b.ask("contents", o.ID); err != nil {
		return o, nil, err
	}
	data := make([]byte, o.Size+1)
	if _, err := io.ReadFull(b.out, data); err != nil {
		return o, nil, b.fail(err)
	}
	return o, data[:o.Size], nil
}

func (b *Batch) ask(verb, name string) (Object, error) {
	if b.broken != nil {
		return Object{}, b.broken
	}
	if strings.ContainsAny(name, "\n\x00") || name == "" {
		return Object{}, fmt.Errorf("%q cannot name an object", name)
	}
	if _, err := io.WriteString(b.in, verb+" "+name+"\n"); err != nil {
		return Object{}, b.fail(err)
	}
	line, err := b.out.ReadString('\n')
	if err != nil {
		return Object{}, b.fail(err)
	}
	line = line[:len(line)-1]
	// The answer is "<id> <kind> <size>" or "<name> missing|ambiguous".
	if rest, ok := strings.CutPrefix(line, name+" "); ok && !strings.Contains(rest, " ") {
		return Object{}, fmt.Errorf("%s: %w", name, ErrMissing)
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return Object{}, b.fail(fmt.Errorf("unexpected answer %q", line))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return Object{}, b.fail(fmt.Errorf("unexpected answer %q", line))
	}
	return Object{fields[0], fields[1], size}, nil
}

// fail marks the batch dead and finds out why the child ended.
func (b *Batch) fail(err error) error {
	b.in.Close()
	if b.cmd.ProcessState == nil {
		if waitErr := b.cmd.Wait(); waitErr != nil {
			err = waitErr
		}
	}
	b.broken = childError(b.ctx, "cat-file", err, b.errs.data)
	return b.broken
}

// tail keeps the first bytes of a child's stderr.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	if room := 2048 - len(t.data); room > 0 {
		t.data = append(t.data, p[:min(room, len(p))]...)
	}
	return len(p), nil
}
