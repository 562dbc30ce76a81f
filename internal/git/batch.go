package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"git-ward/internal/diag"
)

// ErrMissing means that the repository does not have the object.
var ErrMissing = errors.New("no such object")

// ErrDamaged means that a loose object's file is incomplete.
var ErrDamaged = errors.New("damaged")

// Object is what git says about an object, without its content.
type Object struct {
	ID   string
	Kind string // commit, tree, blob or tag
	Size int64  // inflated, bytes
}

// TooLarge is the error for an object above the caller's limit.
type TooLarge struct {
	Object Object
	Limit  int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s %s has %d bytes, more than the limit of %d", e.Object.Kind, e.Object.ID, e.Object.Size, e.Limit)
}

// Is reports that it is a diag.ErrTooLarge.
func (e *TooLarge) Is(target error) bool { return target == diag.ErrTooLarge }

// Batch reads objects: one `git cat-file --batch-command` child answers for all
// of a push. The child starts when it is first needed; refs, loose objects and a few
// packed ones are read without it. A Batch is not safe for concurrent use. After any
// error but ErrMissing and TooLarge the child is dead and says so again.
type Batch struct {
	ctx    context.Context
	repo   *Repo
	direct *direct
	child  *reading    // nil until needed
	unbind func() bool // the end of ctx no longer ends the child
	broken error

	fetched map[string]ready
}

// batchArgs are how it is started, by which its child is known (Unlock). Without --buffer, git
// writes each answer in up to three parts, and each part by itself.
var batchArgs = []string{"cat-file", "--batch-command", "--buffer", "-z"}

// Batch makes a reader, which the caller must close.
func (r *Repo) Batch(ctx context.Context) *Batch {
	return &Batch{ctx: ctx, repo: r, direct: r.directReader()}
}

func (b *Batch) start() error {
	if b.child != nil {
		return nil
	}
	child, err := b.repo.startReading(b.ctx)
	if err != nil {
		return err
	}
	b.child, b.unbind = child, context.AfterFunc(b.ctx, child.cancel)
	return nil
}

// Close ends the child, or leaves it to the next reader (Keep). An error already reported is
// not reported again.
func (b *Batch) Close() error {
	if b.direct != nil {
		b.direct.close()
	}
	child := b.child
	if child == nil {
		return nil
	}
	b.child = nil
	alive := b.unbind()
	if b.broken != nil {
		child.in.Close()
		child.cancel()
		return nil
	}
	if alive && keeperOf(b.ctx).giveReader(child) {
		return nil
	}
	if child.owed != 0 { // nobody reads what it would still say
		child.cancel()
		child.end()
		return nil
	}
	if err := child.end(); err != nil {
		return ChildError(b.ctx, "cat-file", err, child.errs.Bytes())
	}
	return nil
}

// Info asks for an object's id, kind and size without its content; name is an
// object id or a full ref name. A missing object is ErrMissing.
func (b *Batch) Info(name string) (Object, error) {
	id, err := b.resolve(name)
	if err != nil {
		return Object{}, err
	}
	if b.direct != nil && IsID(id) {
		if o, ok, err := b.direct.info(id); ok || err != nil {
			return b.orPacked(o, err, func(git *Batch) (Object, error) { return git.Info(id) })
		}
	}
	return b.ask(id)
}

// Tip returns the object id that a ref, by its full name, holds now, or "" if there is no such
// ref. It does not check that the object exists.
func (b *Batch) Tip(ref string) (string, error) {
	id, err := b.resolve(ref)
	if err == nil && id == ref {
		var o Object
		o, err = b.ask(ref)
		id = o.ID
	}
	if errors.Is(err, ErrMissing) {
		return "", nil
	}
	return id, err
}

// resolve turns a name into its object id if that needs no child.
func (b *Batch) resolve(name string) (string, error) {
	if err := b.ctx.Err(); err != nil {
		return "", err
	}
	if b.direct == nil || IsID(name) {
		return name, nil
	}
	id, ok, err := b.direct.find(name)
	if err != nil || !ok {
		return name, err
	}
	if id == "" {
		return "", fmt.Errorf("%s: %w", name, ErrMissing)
	}
	return id, nil
}

// unlessFetched is resolve, but for a name under which Prefetch has read an object.
func (b *Batch) unlessFetched(name string) (string, error) {
	if _, fetched := b.fetched[name]; fetched {
		return name, b.ctx.Err()
	}
	return b.resolve(name)
}

// Read returns an object of at most limit bytes. A larger one is TooLarge and
// is not inflated.
func (b *Batch) Read(name string, limit int64) (Object, []byte, error) {
	id, err := b.unlessFetched(name)
	if err != nil {
		return Object{}, nil, err
	}
	if o, data, ok, err := b.atHand(id, limit); ok || err != nil {
		return o, data, err
	}
	o, err := b.Info(id)
	if err != nil {
		return o, nil, err
	}
	if o.Size > limit {
		return o, nil, &TooLarge{o, limit}
	}
	return b.contents(o.ID, limit)
}

// ReadNow is Read in one exchange instead of two, for objects that are normally small: commits
// and trees. An object above the limit is TooLarge and ends the batch, because its content is
// already on its way.
func (b *Batch) ReadNow(name string, limit int64) (Object, []byte, error) {
	id, err := b.unlessFetched(name)
	if err != nil {
		return Object{}, nil, err
	}
	if o, data, ok, err := b.atHand(id, limit); ok || err != nil {
		return o, data, err
	}
	return b.contents(id, limit)
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
		b.child.cmd.Process.Kill()
		b.fail(large)
		b.broken = large // the next caller gets this error, not one about a dead child
		return o, nil, large
	}
	data := make([]byte, o.Size+1)
	if _, err := io.ReadFull(b.child.out, data); err != nil {
		return o, nil, b.fail(err)
	}
	return o, data[:o.Size], nil
}

// ready is an object that Prefetch has read.
type ready struct {
	Object
	data []byte
}

// atHand is an object that needs no request to the child.
func (b *Batch) atHand(id string, limit int64) (Object, []byte, bool, error) {
	if r, ok := b.fetched[id]; ok {
		delete(b.fetched, id)
		return r.Object, r.data, true, nil
	}
	if b.direct == nil || !IsID(id) {
		return Object{}, nil, false, nil
	}
	o, data, ok, err := b.direct.read(id, limit)
	if err != nil {
		o, err = b.orPacked(o, err, func(git *Batch) (o Object, err error) {
			o, data, err = git.Read(id, limit)
			return o, err
		})
		ok = ok || err == nil
	}
	return o, data, ok, err
}

// Prefetch reads many objects in one exchange, for the next Read or ReadNow of each, because
// an exchange costs more than most objects do. The next Prefetch drops what nobody took. It only
// saves exchanges: at an object above limit, or more than 16 MiB together, it ends the child, whose
// answer is on its way already, and stops. Those reads report what is missing, oversize or damaged.
func (b *Batch) Prefetch(ids []string, limit int64) error {
	b.fetched = map[string]ready{}
	if b.direct != nil && b.child == nil { // a child that runs answers for less than a look at files costs
		ids = b.direct.others(ids)
	}
	const perExchange = 256 // requests stay below a pipe's size
	left := int64(16 << 20)
	for chunk := range slices.Chunk(ids, perExchange) {
		if err := b.send("contents", chunk...); err != nil {
			return err
		}
		for _, id := range chunk {
			o, data, err := b.receive(id, min(limit, left))
			if errors.Is(err, ErrMissing) {
				continue
			}
			if err != nil {
				return b.renew()
			}
			left -= o.Size
			b.fetched[id] = ready{o, data}
		}
	}
	return nil
}

// renew lets the next question start another child, unless there is nobody to ask any more.
func (b *Batch) renew() error {
	b.unbind()
	_ = b.child.cmd.Process.Kill() // it may wait for someone to read the rest
	_ = b.child.end()
	b.child, b.broken = nil, nil
	return b.ctx.Err()
}

// Sizes visits existing objects with their sizes, many in one exchange.
func (b *Batch) Sizes(ids []string, visit func(Object)) error {
	packed := make([]string, 0, len(ids))
	for _, id := range ids {
		if b.direct != nil {
			o, loose, err := b.direct.info(id)
			if err != nil {
				o, err = b.orPacked(o, err, func(git *Batch) (Object, error) { return git.Info(id) })
				loose = err == nil
			}
			if err != nil {
				return err
			}
			if loose {
				visit(o)
				continue
			}
		}
		packed = append(packed, id)
	}
	const perExchange = 256 // requests stay below a pipe's size
	for chunk := range slices.Chunk(packed, perExchange) {
		if err := b.send("info", chunk...); err != nil {
			return err
		}
		for _, id := range chunk {
			o, err := b.header(id)
			if errors.Is(err, ErrMissing) {
				continue
			}
			if err != nil {
				return err
			}
			visit(o)
		}
	}
	return nil
}

func (b *Batch) ask(name string) (Object, error) {
	if err := b.send("info", name); err != nil {
		return Object{}, err
	}
	return b.header(name)
}

func (b *Batch) send(verb string, names ...string) error {
	if b.broken != nil || len(names) == 0 {
		return b.broken
	}
	var requests strings.Builder
	for _, name := range names {
		if strings.Contains(name, "\x00") || name == "" {
			return fmt.Errorf("%q cannot name an object", name)
		}
		requests.WriteString(verb + " " + name + "\x00") // a path may hold a line's end
	}
	requests.WriteString("flush\x00")
	if err := b.start(); err != nil {
		return err
	}
	b.child.owed += len(names)
	if _, err := io.WriteString(b.child.in, requests.String()); err != nil {
		return b.fail(err)
	}
	return nil
}

// header reads the first line of an answer.
func (b *Batch) header(name string) (Object, error) {
	line, err := b.child.out.ReadString('\n')
	for range strings.Count(name, "\n") { // it comes back in the answer that there is none
		if err == nil && strings.HasPrefix(name, line) {
			var more string
			more, err = b.child.out.ReadString('\n')
			line += more
		}
	}
	if err != nil {
		return Object{}, b.fail(err)
	}
	b.child.owed--
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

// fail marks the batch as unusable and finds out why the child ended.
func (b *Batch) fail(err error) error {
	b.child.in.Close()
	if b.child.cmd.ProcessState == nil {
		if waitErr := b.child.cmd.Wait(); waitErr != nil {
			err = waitErr
		}
	}
	b.broken = ChildError(b.ctx, "cat-file", err, b.child.errs.Bytes())
	return b.broken
}
