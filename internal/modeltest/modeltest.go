// Package modeltest stands in for the models' APIs in tests: Anthropic's Messages and OpenAI's
// Chat Completions and Responses, with and without streaming, on loopback. Each test scripts
// the answers and the faults. Like the real APIs it refuses a malformed conversation.
package modeltest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Turn is the model's answer to one request.
type Turn struct {
	Text     string
	Thinking string // with a signature that has to come back (Messages, Responses)
	Calls    []Call
	Stop     Stop
	Input    int64 // tokens; 0: a quarter of the request's bytes
	Output   int64 // tokens; 0: a quarter of the answer's
	Cached   int64 // of the input
	Fault    Fault
}

// Call is a tool call.
type Call struct {
	ID   string // empty: one is made
	Name string
	Args string // as it is sent, JSON or not
	// Custom is a call of a tool that takes a text instead of JSON; of Responses only.
	Custom bool
}

// Stop is why a turn ends, where it is not by itself.
type Stop string

// The ends that are not the model's own.
const (
	Truncated Stop = "truncated" // the limit on output tokens
	Refused   Stop = "refused"
)

// Fault is what goes wrong with an answer. Events are counted from 1.
type Fault struct {
	Status     int // answer with this status and no turn; 0: 200
	Type       string
	Message    string
	RetryAfter string

	Cut       int           // hang up after so many events; -1: before the first byte
	Malformed int           // this event is not JSON
	Error     string        // after the first event, an error of this type as an event
	Silent    int           // say nothing more after so many events, and do not hang up; -1: no byte at all
	Slow      time.Duration // before each piece of seven bytes
}

// Request has the parts of a received request that scripts use.
type Request struct {
	API     string // "messages", "chat", "responses"
	N       int    // its number, from 1
	Header  http.Header
	Body    []byte
	Model   string
	Stream  bool
	System  string
	Tools   []string
	Turns   int      // of the model so far
	Results []Result // of tools, since the model's last turn
	User    string   // the user's words since then
	Told    string   // all the user's words so far
	Made    []string // the names of all calls so far, in order
	Tokens  int64    // of the input, by size

	called map[string]bool // the ids of the calls in Made; of Messages
}

// Result is a tool's result.
type Result struct {
	ID, Text string
}

// Has reports whether the model may call a tool of that name.
func (r *Request) Has(tool string) bool {
	return slices.Contains(r.Tools, tool)
}

// Find is the tool whose name ends so, as those of MCP servers do; "" if there is
// none. One of a group is named group/name.
func (r *Request) Find(end string) string {
	for _, name := range r.Tools {
		if strings.HasSuffix(name, end) {
			return name
		}
	}
	return ""
}

// Server is the stand-in. Its URL is the base of both providers: for Anthropic
// as it is, for OpenAI with /v1.
type Server struct {
	*httptest.Server
	play   func(*Request) Turn
	window int64

	mu       sync.Mutex
	requests []*Request
}

// New starts a stand-in that ends with the test.
func New(t testing.TB, play func(*Request) Turn) *Server {
	s := &Server{play: play}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// Script plays turns in the order in which requests arrive. More requests are
// answered with an error that no client retries.
func Script(turns ...Turn) func(*Request) Turn {
	return func(r *Request) Turn {
		if r.N > len(turns) {
			return Turn{Fault: Fault{Status: http.StatusTeapot, Type: "script_is_over", Message: "the script is over"}}
		}
		return turns[r.N-1]
	}
}

// Window makes the model refuse inputs of more tokens; call it before requests.
func (s *Server) Window(tokens int64) { s.window = tokens }

// Requests returns the requests received so far.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// api is one protocol.
type api struct {
	name   string
	read   func(body []byte, r *Request) error
	events func(r *Request, t Turn) []event // a stream's
	whole  func(r *Request, t Turn) any
	fault  func(f Fault) any // an error's body
	stream func(f Fault) event
}

var apis = map[string]*api{
	"/v1/messages":         messages,
	"/v1/chat/completions": chat,
	"/v1/responses":        responses,
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch a := apis[r.URL.Path]; {
	case a != nil && r.Method == http.MethodPost:
		s.turn(r.Context(), w, a, &Request{API: a.name, Header: r.Header.Clone(), Body: body})
	case r.URL.Path == "/v1/messages/count_tokens":
		reply(w, http.StatusOK, map[string]any{"input_tokens": len(body) / 4})
	case r.URL.Path == "/v1/models":
		reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{}, "has_more": false})
	default:
		reply(w, http.StatusNotFound, map[string]any{"error": map[string]any{"type": "not_found_error", "message": r.URL.Path}})
	}
}

// turn answers one request of a model.
func (s *Server) turn(ctx context.Context, w http.ResponseWriter, a *api, r *Request) {
	err := a.read(r.Body, r)
	s.mu.Lock()
	s.requests = append(s.requests, r)
	r.N = len(s.requests)
	s.mu.Unlock()
	r.Tokens = int64(len(r.Body) / 4)
	var t Turn
	switch {
	case err != nil:
		t.Fault = Fault{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "stand-in: " + err.Error()}
	case s.window > 0 && r.Tokens > s.window:
		t.Fault = Fault{Status: http.StatusBadRequest, Type: "invalid_request_error",
			Message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", r.Tokens, s.window)}
		if a != messages {
			t.Fault.Type = "context_length_exceeded"
		}
	default:
		t = s.play(r)
	}
	if t.Fault.Status != 0 {
		if t.Fault.RetryAfter != "" {
			w.Header().Set("Retry-After", t.Fault.RetryAfter)
		}
		reply(w, t.Fault.Status, a.fault(t.Fault))
		return
	}
	if t.Fault.Silent < 0 {
		<-ctx.Done() // until the client hangs up
	}
	if t.Fault.Silent < 0 || t.Fault.Cut < 0 {
		panic(http.ErrAbortHandler)
	}
	t.fill(r)
	if !r.Stream {
		reply(w, http.StatusOK, a.whole(r, t))
		return
	}
	send(w, a, a.events(r, t), t.Fault)
}

// fill gives what a script left out.
func (t *Turn) fill(r *Request) {
	size := len(t.Text) + len(t.Thinking)
	t.Calls = append([]Call(nil), t.Calls...)
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", r.N, i+1)
		}
		size += len(c.Args)
	}
	t.Input = cmp.Or(t.Input, r.Tokens)
	if t.Output == 0 {
		t.Output = int64(size/4) + 1
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encode(v))
}

// encode writes JSON as the providers do: <, > and & stay as they are.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // maps of texts and numbers: cannot fail
	}
	return bytes.TrimSpace(b.Bytes())
}

// pieces cuts a text into what single events carry.
func pieces(text string) []string {
	var list []string
	for size := max(16, len(text)/50); text != ""; {
		n := min(size, len(text))
		for n < len(text) && text[n]&0xc0 == 0x80 { // inside a character
			n++
		}
		list = append(list, text[:n])
		text = text[n:]
	}
	return list
}

// texts reads a member that is a string or a list of parts with text.
func texts(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	json.Unmarshal(raw, &parts)
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
