package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/diag"
)

// Trouble is a turn that could not be had, sorted by what can be done about it.
type Trouble struct {
	Kind  Kind
	Err   error
	After time.Duration // the provider's word on when to try again; 0: none
}

// Kind is what can be done about trouble.
type Kind int

// The kinds of trouble.
const (
	// Fatal is no use to try again: a bad key, a bad request.
	Fatal Kind = iota
	// Broken may work if it is tried again: an error of the server, a stream that
	// was cut, fell silent or made no sense.
	Broken
	// Busy is the provider's wish to be asked later: a rate limit, overload.
	Busy
	// TooLong is a conversation that the context window does not hold.
	TooLong
	// Spent is a budget, the gateway's or the account's, without anything left.
	Spent
)

func (t *Trouble) Error() string { return t.Err.Error() }
func (t *Trouble) Unwrap() error { return t.Err }

// ErrSilent is a stream that stopped without an end.
var ErrSilent = errors.New("the model fell silent in the middle of its answer")

// ErrCut is a stream that ended before its turn did.
var ErrCut = errors.New("the answer was cut off in the middle")

// overloaded is Anthropic's status for it.
const overloaded = 529

// errorSize bounds what an error repeats of a provider's answer.
const errorSize = 1000

// HTTP sorts an answer that is an error. kind is the provider's own name for it,
// "" if there is none; message what it says.
func HTTP(status int, kind, message string, header http.Header) *Trouble {
	message = diag.Cut(message, errorSize)
	text := strconv.Itoa(status)
	if kind != "" {
		text += " " + kind
	}
	t := &Trouble{Kind: Fatal, Err: fmt.Errorf("%s: %s", text, message), After: retryAfter(header)}
	switch {
	case tooLong(status, kind, message):
		t.Kind = TooLong
	case status == http.StatusPaymentRequired, kind == "insufficient_quota", kind == "billing_error":
		t.Kind = Spent
	case status == http.StatusTooManyRequests, status == overloaded, status == http.StatusServiceUnavailable,
		kind == "overloaded_error", kind == "rate_limit_error", kind == "rate_limit_exceeded", kind == "server_is_overloaded":
		t.Kind = Busy
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, kind == "api_error", kind == "server_error":
		t.Kind = Broken
	}
	return t
}

// tooLong knows how providers and local servers say that a prompt does not fit.
// Only OpenAI has a code for it: of all others the sentence is the only sign, and one
// that is not known makes the trouble Fatal, which ends the work just the same.
func tooLong(status int, kind, message string) bool {
	if kind == "context_length_exceeded" || status == http.StatusRequestEntityTooLarge {
		return true
	}
	message = strings.ToLower(message)
	return status == http.StatusBadRequest &&
		(strings.Contains(message, "prompt is too long") || strings.Contains(message, "context length") ||
			strings.Contains(message, "context window") || strings.Contains(message, "context size"))
}

// retryAfter reads RFC 9110's header in both forms, and the finer one in
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

// Lost sorts the error of a connection or a stream: all of them may pass.
func Lost(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrSilent):
		return &Trouble{Kind: Broken, Err: ErrSilent}
	case cause != nil:
		return cause
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = ErrCut
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
