package tool

import (
	"errors"
	"io"
	"os"
	"sync"
)

// pipes are what a command prints into. Stdout and stderr are one pipe, so that
// lines come in the order in which they were printed; where stdout is read by a
// Tee it is a pipe of its own, so that nothing gets between its lines.
type pipes struct {
	stdout, stderr *os.File // the command's ends
	readers        []*os.File
}

// pipes makes them and drains them into the capture; drained is closed when all
// of them have ended.
func (c *Command) pipes(out *capture) (p *pipes, drained <-chan struct{}, err error) {
	p = &pipes{}
	var both sync.WaitGroup
	open := func(tee io.Writer) (*os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		p.readers = append(p.readers, r)
		both.Go(func() { out.drain(r, tee) })
		return w, nil
	}
	if p.stderr, err = open(nil); err == nil {
		p.stdout = p.stderr
		if c.Tee != nil {
			p.stdout, err = open(c.Tee)
		}
	}
	if err != nil {
		p.started()
		p.close()
		return nil, nil, err
	}
	done := make(chan struct{})
	go func() {
		both.Wait()
		close(done)
	}()
	return p, done, nil
}

// started closes the command's ends, which are its own now.
func (p *pipes) started() {
	for _, f := range []*os.File{p.stdout, p.stderr} {
		if f != nil {
			f.Close() // a second time is no matter
		}
	}
}

// close closes the other ends; what still writes then fails.
func (p *pipes) close() error {
	var errs []error
	for _, r := range p.readers {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
