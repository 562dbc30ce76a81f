package kube

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// maxLogLine bounds a container's log line, in bytes; a longer one is split.
const maxLogLine = 1 << 20

// follower copies a container's output as the cluster logs it.
type follower struct {
	pod   string
	ended chan struct{}
	stop  context.CancelFunc
	last  time.Time // of the last line
}

// listen starts to follow a container's output. After a lost connection it continues after the
// last line. If a cluster gives no logs, it says so once and stops nothing.
func (c *Cluster) listen(ctx context.Context, pod, container string, out io.Writer, log zerolog.Logger) *follower {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	f := &follower{pod: pod, ended: make(chan struct{}), stop: stop}
	go func() {
		defer close(f.ended)
		said := false
		for {
			whole, err := f.copy(ctx, c, container, out)
			if whole || ctx.Err() != nil {
				return
			}
			if err != nil && !said {
				said = true
				log.Warn().Err(err).Str("pod", pod).Msg("the pod's output is unavailable now; pushed work is not affected")
			}
			if sleep(ctx, 5*time.Second) != nil { // back-off for a kubelet that does not answer
				return
			}
		}
	}()
	return f
}

// copy copies until the connection ends; whole: the output is complete.
func (f *follower) copy(ctx context.Context, c *Cluster, container string, out io.Writer) (whole bool, err error) {
	q := url.Values{"container": {container}, "follow": {"true"}, "timestamps": {"true"}}
	if !f.last.IsZero() {
		q.Set("sinceTime", f.last.UTC().Format(time.RFC3339))
	}
	stream, err := c.send(ctx, http.MethodGet, c.path(pods, f.pod+"/log", q), nil)
	if is(err, http.StatusNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer stream.Close()
	lines := bufio.NewReaderSize(stream, maxLogLine)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			f.pass(line, out)
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return false, c.away(err)
		}
	}
}

// pass writes a line without its timestamp, unless it was written before.
func (f *follower) pass(line []byte, out io.Writer) {
	stamp, rest, ok := strings.Cut(string(line), " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	switch {
	case !ok || err != nil: // the rest of a very long line
		rest = string(line)
	case !at.After(f.last):
		return
	default:
		f.last = at
	}
	io.WriteString(out, rest)
}

// finishTime is how long to wait for a finished container's last output.
const finishTime = 5 * time.Second

// finish waits for the container's last output.
func (f *follower) finish() {
	if f == nil {
		return
	}
	select {
	case <-f.ended:
	case <-time.After(finishTime):
	}
}

// close stops following; after it nothing is written.
func (f *follower) close() {
	if f != nil {
		f.stop()
		<-f.ended
	}
}
