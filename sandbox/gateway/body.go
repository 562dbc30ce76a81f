package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// receive reads a request's body once, into memory that the loan accounts for.
func (x *exchange) receive(ctx context.Context, w http.ResponseWriter, r *http.Request) (body []byte, err error) {
	// A read deadline left in place would end the call, because the server keeps reading to
	// notice a client that leaves.
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(bodyTime))
	defer control.SetReadDeadline(time.Time{})
	if r.ContentLength >= 0 {
		if x.loan, err = x.g.lend(ctx, r.ContentLength); err != nil {
			return nil, err
		}
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = x.grow(ctx, http.MaxBytesReader(w, r.Body, x.g.limits.Body))
	}
	var large *http.MaxBytesError
	var refused *refusal
	switch {
	case errors.As(err, &large):
		return nil, refusef(http.StatusRequestEntityTooLarge, "the request is larger than %d bytes", large.Limit)
	case errors.As(err, &refused):
		return nil, err
	case err != nil:
		return nil, refusef(http.StatusBadRequest, "the request did not arrive whole")
	}
	x.loan.shrink(int64(cap(body)))
	return body, nil
}

// grow reads a body of unknown length and borrows as it grows, so that a small one fits in its
// worker's own part.
func (x *exchange) grow(ctx context.Context, from io.Reader) (body []byte, err error) {
	for size := int64(smallEvent); ; size *= 2 {
		size = min(size, x.g.limits.Body+1)
		more, err := x.g.lend(ctx, size)
		if err != nil {
			return nil, err
		}
		body = append(make([]byte, 0, size), body...)
		x.loan.shrink(0)
		x.loan = more
		for len(body) < cap(body) {
			n, err := from.Read(body[len(body):cap(body)])
			body = body[:len(body)+n]
			if err == io.EOF {
				return body, nil
			} else if err != nil {
				return nil, err
			}
		}
	}
}

// body reads and checks the request's body; call has what will be sent.
func (x *exchange) body(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Content-Encoding") != "" {
		return refusef(http.StatusBadRequest, "an encoded body cannot be checked: send it plain")
	}
	data, err := x.receive(ctx, w, r)
	if err != nil {
		return err
	}
	x.call, err = x.endpoint.read(data, x.g.limits, seen{models: x.g.config.Models, official: x.p.official})
	if other, ok := errors.AsType[*unlisted](err); ok {
		x.g.payments.unlisted(x.directive, other.name)
	}
	if err != nil {
		return refusef(http.StatusBadRequest, "%v", clip(x.p.key.Scrub(err.Error())))
	}
	return nil
}

// forget frees the body, which is not needed once the provider has answered.
func (x *exchange) forget() {
	if x.call != nil {
		x.call.parts = nil
	}
	x.loan.shrink(0)
}

// outgoing is a call's body for net/http. After Close it holds no memory, because the request
// lives until the answer ends, perhaps for an hour.
type outgoing struct {
	mu   sync.Mutex
	from io.Reader // nil when closed
}

func (c *call) outgoing() *outgoing {
	readers := make([]io.Reader, len(c.parts))
	for i, part := range c.parts {
		readers[i] = bytes.NewReader(part)
	}
	return &outgoing{from: io.MultiReader(readers...)}
}

func (o *outgoing) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.from == nil {
		return 0, io.ErrClosedPipe
	}
	return o.from.Read(p)
}

func (o *outgoing) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.from = nil
	return nil
}

// length is how many bytes go out.
func (c *call) length() (n int64) {
	for _, part := range c.parts {
		n += int64(len(part))
	}
	return n
}
