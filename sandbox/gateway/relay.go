package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"git-ward/internal/pattern"
)

var (
	errSilent = errors.New("the provider fell silent")
	errCut    = errors.New("the answer was cut")
	errLong   = errors.New("the answer has far more tokens than were asked for")
)

// answerHeader are the answer's headers that pass. Cookies and the host organization's names
// do not.
var answerHeader = pattern.New(`^(Content-Type|Cache-Control|Retry-After(-Ms)?|X-Should-Retry|(X-)?Request-Id|` +
	`(Anthropic|X)-Ratelimit-.*|Openai-(Processing-Ms|Version|Model))$`)

// relay passes the answer on chunk by chunk, reads its usage and removes the key.
func (x *exchange) relay(ctx context.Context, w http.ResponseWriter, resp *http.Response, cancel context.CancelCauseFunc) error {
	for name, values := range resp.Header {
		if answerHeader.MatchString(name) {
			for _, v := range values {
				w.Header().Add(name, x.p.key.Scrub(v))
			}
		}
	}
	x.status = resp.StatusCode
	x.tap.stream = strings.HasPrefix(strings.ToLower(resp.Header.Get("Content-Type")), "text/event-stream")
	x.tap.parse = func(fields, *reading) {}
	x.tap.lend = func() *loan { return x.g.tryLend(maxEvent) }
	defer x.tap.forget()
	if x.endpoint != nil {
		x.tap.parse = x.endpoint.answer
	}
	w.WriteHeader(x.status)
	if x.tap.stream {
		http.NewResponseController(w).Flush() // the first event may take long
	}
	err := x.copy(ctx, w, resp.Body, cancel)
	if err == nil || x.tap.stream {
		x.tap.end()
	}
	return err
}

// copy returns at the answer's end, or with the reason why it is incomplete.
func (x *exchange) copy(ctx context.Context, w http.ResponseWriter, from io.Reader, cancel context.CancelCauseFunc) error {
	silence := x.g.limits.Silence
	alarm := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	scrub := scrubber{key: []byte(x.p.key.value)}
	flush := http.NewResponseController(w).Flush
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		x.tap.write(buffer[:n])
		out := scrub.next(buffer[:n])
		if err != nil {
			out = append(out, scrub.rest()...)
		}
		// The timer is for the provider: a client that reads slowly has a deadline for each
		// write.
		alarm.Stop()
		if e := write(w, out, flush); e != nil {
			return fmt.Errorf("the client left: %w", e)
		}
		alarm.Reset(silence)
		switch {
		case err == io.EOF:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("the answer ended: %w", context.Cause(ctx))
		case err != nil:
			return fmt.Errorf("%w: %w", errCut, err)
		case x.tap.bytes > x.g.limits.Answer:
			return errors.New("the answer is too large")
		case x.call != nil && x.tap.streamed() > x.call.output+x.g.limits.MaxOutput:
			return errLong // its cost was not reserved
		}
	}
}

func write(w io.Writer, p []byte, flush func() error) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := w.Write(p); err != nil {
		return err
	}
	return flush()
}
