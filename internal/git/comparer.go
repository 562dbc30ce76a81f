package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"git-ward/internal/lines"
)

// Comparer compares one pair of trees after another as Repo.Compare and Repo.Patch do, by two
// children for all of them: most of a comparison is the start of its child. Make it of a
// repository from Apart. It is not safe for concurrent use, and the caller must close it.
type Comparer struct{ paths, patch comparing }

// Comparer makes one. Its children start when they are first needed.
func (r *Repo) Comparer(ctx context.Context) *Comparer {
	return &Comparer{comparing{ctx: ctx, repo: r, args: pathsArgs}, comparing{ctx: ctx, repo: r, args: patchArgs}}
}

// Compare is Repo.Compare of two trees, by their ids.
func (c *Comparer) Compare(from, to string, limit int) ([]Difference, error) {
	return differences(c.paths.answer(from, to, 0, maxRecord), limit)
}

// Patch is Repo.Patch of two trees, by their ids.
func (c *Comparer) Patch(from, to string) iter.Seq2[string, error] {
	return c.patch.answer(from, to, '\n', maxLine)
}

// Close ends the children.
func (c *Comparer) Close() error { return errors.Join(c.paths.close(), c.patch.close()) }

// comparing is a `git diff-tree --stdin` child.
type comparing struct {
	ctx  context.Context
	repo *Repo
	args []string

	child  *Child // nil until needed
	cancel context.CancelFunc
	in     io.WriteCloser
	out    *bufio.Reader
	errs   lines.Head
	mark   string // the line that git repeats behind each answer; no answer can have it
}

func (a *comparing) start() error {
	if a.child != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(a.ctx)
	child := a.repo.reader(ctx, slices.Concat([]string{"diff-tree", "--stdin"}, a.args, []string{"--"})...)
	a.errs = lines.Head{}
	child.Stderr = &a.errs
	in, err := child.StdinPipe()
	if err == nil {
		var out io.Reader
		if out, err = child.StdoutPipe(); err == nil {
			a.out = bufio.NewReaderSize(out, 64<<10)
			err = child.Start()
		}
	}
	if err != nil {
		cancel()
		return err
	}
	a.child, a.cancel, a.in, a.mark = child, cancel, in, "w"+rand.Text()+"\n"
	return nil
}

// answer yields the pieces of what git says of a pair. Who breaks off ends the child, and the
// next pair has another.
func (a *comparing) answer(from, to string, end byte, limit int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := a.ctx.Err() // of a child that is about to be killed, an answer may still come
		if err == nil {
			err = a.start()
		}
		if err == nil { // git repeats a line that begins with no object's id, and flushes
			_, err = io.WriteString(a.in, from+" "+to+"\n"+a.mark)
		}
		var head []byte
		if err == nil {
			head, err = a.piece('\n', maxRecord)
		}
		if err == nil && string(head) != from+" "+to {
			err = fmt.Errorf("unexpected answer %.100q", head)
		}
		for err == nil {
			if mark, _ := a.out.Peek(len(a.mark)); string(mark) == a.mark {
				a.out.Discard(len(a.mark))
				return
			}
			var piece []byte
			if piece, err = a.piece(end, limit); err == nil && !yield(string(piece), nil) {
				a.cancel()
				a.close()
				return
			}
		}
		if a.child != nil {
			ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
			if !ended {
				a.cancel()
			}
			if why := a.close(); ended { // it says why
				err = errors.Join(why, errors.New("the output breaks off"))
			}
			err = ChildError(a.ctx, "diff-tree", err, a.errs.Bytes()) // all is there after the wait of close
		}
		yield("", err)
	}
}

// piece reads up to an end, which it leaves out.
func (a *comparing) piece(end byte, limit int) ([]byte, error) {
	var whole []byte
	for {
		part, err := a.out.ReadSlice(end)
		if whole = append(whole, part...); len(whole) > limit {
			return nil, fmt.Errorf("a record of more than %d bytes", limit)
		}
		if err == nil {
			return bytes.TrimSuffix(whole, []byte{end}), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

func (a *comparing) close() error {
	child := a.child
	if child == nil {
		return nil
	}
	a.child = nil
	defer a.cancel()
	a.in.Close()
	return child.Wait()
}
