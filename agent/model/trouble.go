package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"git-ward/agent/gateway"
	"git-ward/internal/diag"
)

// Trouble is a failed turn, classified by what can be done about it.
type Trouble struct {
	Kind  Kind
	Err   error
	After time.Duration // the provider's time for the next try; 0: none
}

// Kind says what can be done about a failed turn.
type Kind int

// The kinds of trouble.
const (
	// Fatal is useless to retry: a bad key.
	Fatal Kind = iota
	// Absent is a model that does not exist: useless to retry, but another model may work.
	Absent
	// Rejected is a request that the provider does not accept. Providers without an error code
	// for a conversation that is too long answer with this as well.
	Rejected
	// Broken may succeed if retried: a stream that was cut, fell silent, was malformed or
	// empty. It is retried a few times only, because such answers may be billed.
	Broken
	// Busy is a provider to be asked again later: rate limit, overload, server error, no
	// connection.
	Busy
	// TooLong is a conversation that exceeds the context window.
	TooLong
	// Spent is an exhausted budget, the gateway's or the account's.
	Spent
	// Held means that the gateway refuses work on the unit now.
	Held
)

func (t *Trouble) Error() string { return t.Err.Error() }
func (t *Trouble) Unwrap() error { return t.Err }

// ErrSilent is a stream that stopped without an end.
var ErrSilent = errors.New("the model fell silent in the middle of its answer")

// ErrEmpty is an answer without a word or a call.
var ErrEmpty = errors.New("the answer was empty")

// ErrCut is a stream that ended before its turn did.
var ErrCut = errors.New("the answer was cut off in the middle")

// errorSize bounds the quoted part of a provider's answer.
const errorSize = 1000

// HTTP classifies an error response by its codes only. kind is the provider's name for the
// error, "" if there is none; message is its text for people.
func HTTP(status int, kind, message string, header http.Header) *Trouble {
	message = diag.Cut(message, errorSize)
	text := strconv.Itoa(status)
	if kind != "" {
		text += " " + kind
	}
	return &Trouble{Kind: kindOf(status, kind, header), Err: fmt.Errorf("%s: %s", text, message), After: retryAfter(header)}
}

// byName classifies errors by the provider's own error types, which are more reliable than the
// status: an error may follow a status of 200.
var byName = map[string]Kind{
	"context_length_exceeded": TooLong, "request_too_large": TooLong,
	"not_found_error": Absent, "model_not_found": Absent,
	"insufficient_quota": Spent, "billing_error": Spent,
	"overloaded_error": Busy, "rate_limit_error": Busy, "rate_limit_exceeded": Busy, "server_is_overloaded": Busy,
	"api_error": Busy, "server_error": Busy, "timeout_error": Busy,
}

func kindOf(status int, name string, header http.Header) Kind {
	if header.Get(gateway.HeldHeader) != "" {
		return Held
	}
	if kind, known := byName[name]; known {
		return kind
	}
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return TooLong
	case status == http.StatusPaymentRequired:
		return Spent
	case status == http.StatusNotFound:
		return Absent
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusConflict:
		return Busy
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return Rejected
	}
	return Fatal
}

// retryAfter reads the Retry-After header of RFC 9110 in both forms, and the one in
// milliseconds that OpenAI's servers send.
func retryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := header.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// Lost classifies the error of a connection or stream. All of them may pass, and an
// unreachable server is waited for.
func Lost(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrSilent):
		return &Trouble{Kind: Broken, Err: ErrSilent}
	case cause != nil:
		return cause
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = ErrCut
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return &Trouble{Kind: Busy, Err: err}
	}
	return &Trouble{Kind: Broken, Err: err}
}

// Listen gives a context that ends with ErrSilent when heard was not called for
// the given time. Call stop when the stream is over.
func Listen(ctx context.Context, silence time.Duration) (listening context.Context, heard, stop func()) {
	listening, cancel := context.WithCancelCause(ctx)
	alarm := time.AfterFunc(silence, func() { cancel(ErrSilent) })
	return listening, func() { alarm.Reset(silence) }, func() { alarm.Stop(); cancel(nil) }
}
