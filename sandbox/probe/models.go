package probe

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// models tries calls that a launch must not pay for or that would use up the host's memory
// (SBX-7). If the promise holds, no call is sent; the named model does not exist, so that a
// sent call would cost nothing.
func models(p *Surroundings) []attempt {
	if p.Gateway == "" {
		return nil
	}
	unknown := `{"model":"ward-probe-no-such-model","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`
	deep := `{"model":"ward-probe-no-such-model","max_tokens":1,"messages":` + strings.Repeat("[", 5000)
	refused := []int{http.StatusBadRequest, http.StatusForbidden}
	return []attempt{
		{"SBX-7", "the gateway calls no model of Anthropic's that the settings do not name", asks("/anthropic/v1/messages", len(unknown), unknown, refused)},
		{"SBX-7", "the gateway calls no model of OpenAI's that the settings do not name", asks("/openai/v1/chat/completions", len(unknown), unknown, refused)},
		{"SBX-7", "the gateway does not read a request of 100 GB", asks("/anthropic/v1/messages", 100_000_000_000, "{", []int{http.StatusRequestEntityTooLarge})},
		{"SBX-7", "the gateway does not follow a request 5,000 levels deep", asks("/anthropic/v1/messages", len(deep), deep, refused)},
	}
}

// asks posts a body with a declared length, and checks the answer's status.
func asks(path string, length int, body string, want []int) func(context.Context, *Surroundings) (bool, string) {
	return func(_ context.Context, p *Surroundings) (bool, string) {
		conn, err := dial(p.Gateway)
		if err != nil {
			return false, err.Error()
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", path, length, body)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return false, err.Error()
		}
		defer answer.Body.Close()
		return slices.Contains(want, answer.StatusCode), answer.Status
	}
}
