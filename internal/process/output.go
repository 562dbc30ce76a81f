package process

import (
	"io"
	"os"
	"sync"
	"time"
)

// output is what a command prints into: a pipe for each writer, and a goroutine
// that reads it.
type output struct {
	stdout, stderr *os.File // the command's ends
	readers        []*os.File
	reading        sync.WaitGroup
	drained        chan struct{} // closed when nobody holds a command's end any more

	mu     sync.Mutex
	limit  int64 // bytes, 0 for none
	total  int64
	why    error // before failed is closed
	failed chan struct{}
}

func openOutput(c *Command) (*output, error) {
	o := &output{limit: c.Output, drained: make(chan struct{}), failed: make(chan struct{})}
	var err error
	if o.stdout, err = o.pipe(c.Stdout); err == nil {
		if o.stderr = o.stdout; c.Stderr != c.Stdout {
			o.stderr, err = o.pipe(c.Stderr)
		}
	}
	if err != nil {
		o.started()
		o.close()
		return nil, err
	}
	go func() {
		o.reading.Wait()
		close(o.drained)
	}()
	return o, nil
}

// pipe makes a pipe and reads it into w.
func (o *output) pipe(w io.Writer) (*os.File, error) {
	r, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.readers = append(o.readers, r)
	o.reading.Go(func() { o.copy(w, r) })
	return end, nil
}

// copy reads until the pipe ends, beyond the limit and beyond a failure of w too:
// a command that is being ended must not block on its pipe.
func (o *output) copy(w io.Writer, r io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && w != nil {
			if _, err := w.Write(buf[:n]); err != nil {
				o.fail(err)
				w = nil
			}
		}
		o.count(n)
		if err != nil {
			return
		}
	}
}

func (o *output) count(n int) {
	o.mu.Lock()
	o.total += int64(n)
	over := o.limit > 0 && o.total > o.limit
	o.mu.Unlock()
	if over {
		o.fail(&OutputError{o.limit})
	}
}

// fail records, the first time, that the command has to be ended, and why.
func (o *output) fail(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.why == nil {
		o.why = why
		close(o.failed)
	}
}

// failure is what fail said, nil for nothing.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.why
}

// started closes the command's ends, which are its own now.
func (o *output) started() {
	for _, f := range []*os.File{o.stdout, o.stderr} {
		if f != nil {
			f.Close() // closing it twice does no harm
		}
	}
}

// drain reads to the end, or until the grace is over: then an escaped process holds the pipe,
// and its writes fail.
func (o *output) drain(grace time.Duration) {
	over := time.NewTimer(grace)
	defer over.Stop()
	select {
	case <-o.drained:
	case <-over.C:
	}
	o.close()
	<-o.drained
}

func (o *output) close() {
	for _, r := range o.readers {
		r.Close()
	}
}
