package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"git-ward/internal/config"

	"github.com/go-json-experiment/json"
)

// refusal is the gateway's own answer in place of the provider's.
type refusal struct {
	status  int
	message string
	held    bool          // the unit is held
	after   time.Duration // when it passes by itself; 0: unknown
	told    bool          // already logged
	limit   string        // of a spent budget, see spent
}

func (e *refusal) Error() string { return e.message }

func refusef(status int, format string, args ...any) *refusal {
	return &refusal{status: status, message: fmt.Sprintf(format, args...)}
}

// HeldHeader has the code of a refusal for a unit that must not be worked on now, for programs
// (agent/gateway has it, too).
const HeldHeader = "Ward-Held"

// refusalOf makes an answer for an error before a call was sent.
//
// A spent budget is 402: the status of Anthropic's billing_error, which neither SDK retries.
// OpenAI's own answer would be 429 insufficient_quota, which its SDKs retry; we use its code
// but not its status. Only what passes by itself is 429.
func refusalOf(err error) *refusal {
	var r *refusal
	var s *spent
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &s) && s.held:
		return refusef(http.StatusTooManyRequests, "%v", s)
	case errors.As(err, &s):
		r = refusef(http.StatusPaymentRequired, "%v", s)
		r.limit = s.limit
		return r
	}
	return refusef(http.StatusServiceUnavailable, "the host cannot write down what the call costs")
}

// kinds are the two APIs' error types by status, so that each client library raises its own
// exception.
var kinds = map[int]struct{ anthropic, openAI, code string }{
	http.StatusBadRequest:            {"invalid_request_error", "invalid_request_error", "unsupported_value"},
	http.StatusUnauthorized:          {"authentication_error", "authentication_error", "invalid_api_key"},
	http.StatusPaymentRequired:       {"billing_error", "insufficient_quota", "insufficient_quota"},
	http.StatusForbidden:             {"permission_error", "permission_error", "forbidden"},
	http.StatusRequestEntityTooLarge: {"request_too_large", "invalid_request_error", "request_too_large"},
	http.StatusTooManyRequests:       {"rate_limit_error", "rate_limit_error", "rate_limit_exceeded"},
	http.StatusBadGateway:            {"api_error", "server_error", "bad_gateway"},
	http.StatusServiceUnavailable:    {"api_error", "server_error", "unavailable"},
	http.StatusGatewayTimeout:        {"timeout_error", "server_error", "timeout"},
}

// write answers in the client's protocol. The header tells both official SDKs whether to
// retry.
func (e *refusal) write(w http.ResponseWriter, protocol config.Provider) {
	kind := kinds[e.status]
	message := "ward: " + e.message
	var body any = map[string]any{"type": "error", "error": map[string]any{"type": kind.anthropic, "message": message}}
	if protocol == config.OpenAI {
		body = map[string]any{"error": map[string]any{"message": message, "type": kind.openAI, "param": nil, "code": kind.code}}
	}
	data, _ := json.Marshal(body, json.Deterministic(true)) // maps of texts: cannot fail
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Should-Retry", fmt.Sprint(retryable(e.status)))
	if e.held {
		h.Set(HeldHeader, "1")
	}
	if e.after > 0 {
		h.Set("Retry-After", fmt.Sprint(int(e.after.Seconds())))
	}
	w.WriteHeader(e.status)
	w.Write(append(data, '\n'))
}

func retryable(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway || status == http.StatusGatewayTimeout
}
