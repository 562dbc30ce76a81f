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

	fetched map[string]ready
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
	if r, ok := b.take(name); ok {
		return r.Object, r.data, nil
	}
	o, err := b.Info(name)
	if err != nil {
		return o, nil, err
	}
	if o.Size > limit {
		return o, nil, &TooLarge{o, limit}
	}
	return b.contents(o.ID, limit)
}

// ReadNow is Read in one exchange instead of two, for objects that are small
// unless somebody means harm: commits and trees. One over the limit is TooLarge
// and ends the batch, because its content is on its way already.
func (b *Batch) ReadNow(name string, limit int64) (Object, []byte, error) {
	if r, ok := b.take(name); ok {
		return r.Object, r.data, nil
	}
	return b.contents(name, limit)
}

func (b *Batch) contents(name string, limit int64) (Object, []byte, error) {
	if err := b.send("contents", name); err != nil {
		return Object{}, nil, err
	}
	return b.receive(name, limit)
}

func (b *Batch) receive(name string, limit int64) (Object, []byte, error) {
	o, err := b.header(name)
	if err != nil {
		return o, nil, err
	}
	if o.Size > limit {
		large := &TooLarge{o, limit}
		b.cmd.Process.Kill()
		b.fail(large)
		return o, nil, large
	}
	data := make([]byte, o.Size+1)
	if _, err := io.ReadFull(b.out, data); err != nil {
		return o, nil, b.fail(err)
	}
	return o, data[:o.Size], nil
}

// ready is an object that Prefetch has read.
type ready struct {
	Object
	data []byte
}

func (b *Batch) take(name string) (ready, bool) {
	r, ok := b.fetched[name]
	if ok {
		delete(b.fetched, name)
	}
	return r, ok
}

// Prefetch reads objects ahead, many in one exchange, for the next Read or
// ReadNow of each; what nobody took is dropped by the next Prefetch. Missing
// objects and those over the limit are left for that read to report. An exchange
// with the child costs more than most objects.
func (b *Batch) Prefetch(ids []string, limit int64) error {
	b.fetched = map[string]ready{}
	const perExchange, atOnce = 256, 16 << 20 // requests stay below a pipe's size
	var total int64
	for len(ids) > 0 {
		chunk := ids[:min(len(ids), perExchange)]
		ids = ids[len(chunk):]
		if err := b.send("info", chunk...); err != nil {
			return err
		}
		var want []string
		for _, id := range chunk {
			o, err := b.header(id)
			if errors.Is(err, ErrMissing) {
				continue
			}
			if err != nil {
				return err
			}
			if total+o.Size <= atOnce && o.Size <= limit {
				total += o.Size
				want = append(want, id)
			}
		}
		if err := b.send("contents", want...); err != nil {
			return err
		}
		for _, id := range want {
			o, data, err := b.receive(id, limit)
			if err != nil {
				return err
			}
			b.fetched[id] = ready{o, data}
		}
	}
	return nil
}

func (b *Batch) ask(verb, name string) (Object, error) {
	if err := b.send(verb, name); err != nil {
		return Object{}, err
	}
	return b.header(name)
}

func (b *Batch) send(verb string, names ...string) error {
	if b.broken != nil {
		return b.broken
	}
	var requests strings.Builder
	for _, name := range names {
		if strings.ContainsAny(name, "\n\x00") || name == "" {
			return fmt.Errorf("%q cannot name an object", name)
		}
		requests.WriteString(verb + " " + name + "\n")
	}
	if _, err := io.WriteString(b.in, requests.String()); err != nil {
		return b.fail(err)
	}
	return nil
}

// header reads the first line of an answer.
func (b *Batch) header(name string) (Object, error) {
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
