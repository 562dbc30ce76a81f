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
	After time.Duration // the provider's word on when to try again; 0: none
}

// Kind says what can be done about a failed turn.
type Kind int

// The kinds of trouble.
const (
	// Fatal is no use to try again: a bad key.
	Fatal Kind = iota
	// Absent is a model that is not there: no use to try it again, but another may be.
	Absent
	// Rejected is a request that the provider does not take as it is. Where it has no
	// code for a conversation that is too long, this is all that it says of one.
	Rejected
	// Broken may work if it is tried again: a stream that was cut, fell silent, made no
	// sense or said nothing. It is tried a few times, for such answers may be billed.
	Broken
	// Busy is a provider that is to be asked later: a rate limit, overload, an error of
	// the server, nobody there. It is waited for.
	Busy
	// TooLong is a conversation that the context window does not hold.
	TooLong
	// Spent is a budget, the gateway's or the account's, without anything left.
	Spent
	// Held is the gateway's word that the unit is not to be worked on now.
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

// errorSize bounds what an error repeats of a provider's answer.
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

// byName sorts errors by the provider's own names for them, which are surer than the
// status: one may come after a status of 200.
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
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
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
