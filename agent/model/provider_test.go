package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"git-ward/agent/model"
	"git-ward/agent/model/anthropic"
	"git-ward/agent/model/openai"
	"git-ward/agent/tool"
	"git-ward/internal/await"
	"git-ward/internal/modeltest"
	"git-ward/internal/tier"
)

// kinds make each kind of model for a stand-in.
var kinds = map[string]func(url string, silence time.Duration) model.Model{
	"messages": func(url string, silence time.Duration) model.Model {
		return anthropic.New(anthropic.Options{BaseURL: url, Key: "ward", ID: "claude-test", Output: 1000, Silence: silence})
	},
	"responses": func(url string, silence time.Duration) model.Model {
		return openai.NewResponses(openai.Options{BaseURL: url + "/v1", Key: "ward", ID: "gpt-test", Output: 1000, Silence: silence})
	},
	"chat": func(url string, silence time.Duration) model.Model {
		return openai.NewChat(openai.Options{BaseURL: url + "/v1", Key: "ward", ID: "gpt-test", Output: 1000, Silence: silence})
	},
}

// patient is a limit of silence that nothing here meets, on any machine.
const patient = time.Hour

func each(t *testing.T, f func(t *testing.T, open func(url string, silence time.Duration) model.Model)) {
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open)
		})
	}
}

func talk(t *testing.T) *model.Conversation {
	box := &tool.Box{Dir: t.TempDir(), State: t.TempDir(), Timeout: time.Hour, OutputSize: 1000, WriteSize: 1000}
	return &model.Conversation{System: "You are an agent.", Directive: "D-1", Tools: box.Tools(),
		Messages: []model.Message{{Role: model.User, Text: "Continue."}}}
}

// answer adds a turn and results for its calls to the conversation.
func answer(c *model.Conversation, r model.Reply, text string) {
	c.Messages = append(c.Messages, model.Message{Role: model.Assistant, Text: r.Text, Calls: r.Calls, Native: r.Native})
	next := model.Message{Role: model.User}
	for _, call := range r.Calls {
		next.Results = append(next.Results, model.Result{ID: call.ID, Result: tool.Result{Text: text + " of " + call.Name, IsError: call.Fault != ""}})
	}
	if next.Results == nil {
		next.Text = text
	}
	c.Messages = append(c.Messages, next)
}

// TestTurns: text, parallel calls, thinking that has to come back, arguments that
// are no JSON, and results, through a conversation that the stand-in checks.
func TestTurns(t *testing.T) {
	huge := strings.Repeat("All work and no play. 日本 ", 40_000) // a megabyte
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		s := modeltest.New(t, modeltest.Script(
			modeltest.Turn{Text: "I look <around> & about.", Thinking: "hm", Calls: []modeltest.Call{
				{Name: "read_file", Args: `{"path":"a"}`}, {Name: "bash", Args: `{"command":"ls <x> && y"}`}}, Input: 100, Cached: 40},
			modeltest.Turn{Calls: []modeltest.Call{{Name: "bash", Args: `{"command": "l`}, {Name: "bash", Args: ""}, {Name: "bash", Args: `["ls"]`}}},
			modeltest.Turn{Text: huge, Input: 10, Output: 20},
		))
		m, c := open(s.URL, patient), talk(t)
		r, err := m.Turn(t.Context(), c)
		if err != nil || r.Text != "I look <around> & about." || len(r.Calls) != 2 || string(r.Calls[1].Args) != `{"command":"ls <x> && y"}` || r.Stop != model.Ended {
			t.Fatalf("%v %+v", err, r)
		}
		if r.Usage.Input != 100 || r.Usage.Cached != 40 || r.Usage.Output < 5 {
			t.Errorf("usage %+v", r.Usage)
		}
		answer(c, r, "result")
		r, err = m.Turn(t.Context(), c)
		if err != nil || len(r.Calls) != 3 {
			t.Fatalf("%v %+v", err, r)
		}
		for i, fault := range []string{`not a JSON object: {"command": "l`, "", `not a JSON object: ["ls"]`} {
			if call := r.Calls[i]; string(call.Args) != "{}" || !strings.HasSuffix(call.Fault, fault) || (fault == "") != (call.Fault == "") {
				t.Errorf("call %d: %+v", i, call)
			}
		}
		answer(c, r, "fault")
		r, err = m.Turn(t.Context(), c)
		if err != nil || r.Text != huge || r.Calls != nil {
			t.Errorf("%v: %d bytes", err, len(r.Text))
		}
		last := s.Requests()[2]
		if last.System != "You are an agent." || len(last.Results) != 3 || last.Results[0].Text != "fault of bash" || last.Turns != 2 || !last.Stream {
			t.Errorf("%q %+v %d", last.System, last.Results, last.Turns)
		}
		if strings.Join(last.Tools, " ") != "read_file write_file bash bootstrap rollback" {
			t.Errorf("tools %q", last.Tools)
		}
	})
}

// TestCacheMarks: what stays the same from turn to turn is marked for the cache,
// and does stay the same to the byte.
func TestCacheMarks(t *testing.T) {
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		s := modeltest.New(t, modeltest.Script(
			modeltest.Turn{Thinking: "hm", Calls: []modeltest.Call{{Name: "bash", Args: `{"command":"ls"}`}}}, modeltest.Turn{Text: "done"}))
		m, c := open(s.URL, patient), talk(t)
		r, err := m.Turn(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		answer(c, r, "x")
		if _, err := m.Turn(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		first, second := s.Requests()[0], s.Requests()[1]
		var a, b struct {
			Messages, Input []json.RawMessage
			Tools, System   json.RawMessage
		}
		if json.Unmarshal(first.Body, &a) != nil || json.Unmarshal(second.Body, &b) != nil {
			t.Fatal("not JSON")
		}
		unmarked := strings.NewReplacer(`"cache_control":{"type":"ephemeral"},`, "", `,"cache_control":{"type":"ephemeral"}`, "")
		before, after := append(a.Messages, a.Input...), append(b.Messages, b.Input...)
		for i := range before {
			if unmarked.Replace(string(before[i])) != unmarked.Replace(string(after[i])) {
				t.Errorf("message %d changed:\n%s\n%s", i, before[i], after[i])
			}
		}
		if string(a.Tools) != string(b.Tools) || string(a.System) != string(b.System) {
			t.Error("tools or system prompt changed")
		}
		if first.API == "messages" && (strings.Count(string(second.Body), `"cache_control"`) != 2 || !strings.Contains(string(b.System), "ephemeral")) {
			t.Errorf("marks: %s", second.Body)
		}
	})
}

// fault is a row of the table of faults: what the stand-in does, and what comes
// of it, with Patience in front.
type fault struct {
	name  string
	turns []modeltest.Turn // then it works
	calls int              // how many requests that takes; 0: all of turns and one
	err   string           // in the error; "": the turn succeeds
	kind  model.Kind
}

func fails(n int, f modeltest.Fault) (list []modeltest.Turn) {
	for range n {
		list = append(list, modeltest.Turn{Text: "half of it, and the rest of it, and more of it", Fault: f})
	}
	return list
}

var faults = []fault{
	{name: "429 with retry-after", turns: fails(2, modeltest.Fault{Status: 429, Type: "rate_limit_error", Message: "slow down", RetryAfter: "0.2"})},
	{name: "429 for longer than patience lasts", turns: fails(1, modeltest.Fault{Status: 429, Type: "rate_limit_error", RetryAfter: "3600"}), calls: 1, err: "busy for longer than", kind: model.Busy},
	{name: "500", turns: fails(2, modeltest.Fault{Status: 500, Type: "api_error", Message: "oops"})},
	{name: "500, more often than a broken answer is tried", turns: fails(5, modeltest.Fault{Status: 500, Type: "api_error", Message: "oops"})},
	{name: "an error of the server without a name", turns: fails(4, modeltest.Fault{Status: 502})},
	{name: "an empty answer", turns: []modeltest.Turn{{}, {Text: " \n"}}},
	{name: "an empty answer each time", turns: make([]modeltest.Turn, 9), calls: 3, err: "3 times: the answer was empty", kind: model.Broken},
	{name: "529 overloaded, more often than a failure is tried", turns: fails(5, modeltest.Fault{Status: 529, Type: "overloaded_error", Message: "Overloaded"})},
	{name: "503 of a gateway", turns: fails(1, modeltest.Fault{Status: 503, Type: "unavailable"})},
	{name: "an error as an event, 200 before it", turns: fails(1, modeltest.Fault{Error: "overloaded_error"})},
	{name: "a stream cut after its first event", turns: fails(1, modeltest.Fault{Cut: 1})},
	{name: "a stream cut in the middle", turns: fails(2, modeltest.Fault{Cut: 4})},
	{name: "a stream cut each time", turns: fails(9, modeltest.Fault{Cut: 3}), calls: 3, err: "3 times: ", kind: model.Broken},
	{name: "a malformed event", turns: fails(1, modeltest.Fault{Malformed: 3})},
	{name: "a stream that falls silent", turns: fails(1, modeltest.Fault{Silent: 3})},
	{name: "401", turns: fails(1, modeltest.Fault{Status: 401, Type: "authentication_error", Message: "no"}), calls: 1, err: "401 authentication_error: no", kind: model.Fatal},
	{name: "400", turns: fails(1, modeltest.Fault{Status: 400, Type: "invalid_request_error", Message: "bad"}), calls: 1, err: "400 invalid_request_error: bad", kind: model.Rejected},
	{name: "402 of the gateway: the budget is spent", turns: fails(1, modeltest.Fault{Status: 402, Type: "billing_error", Message: "ward: the budget of D-1 is spent"}), calls: 1, err: "the budget of D-1 is spent", kind: model.Spent},
	{name: "429 of an account without money", turns: fails(1, modeltest.Fault{Status: 429, Type: "insufficient_quota", Message: "pay"}), calls: 1, err: "insufficient_quota", kind: model.Spent},
}

// firstHasty is a model whose first turns have little patience with a silent provider: what
// is to fail by it fails, and what is to work does, however slow the machine is.
type firstHasty struct {
	model.Model
	turns   int
	limit   time.Duration
	open    func(limit time.Duration) model.Model
	arrived func() int
}

func (m *firstHasty) Turn(ctx context.Context, c *model.Conversation) (model.Reply, error) {
	if m.turns--; m.turns < 0 {
		return m.Model.Turn(ctx, c)
	}
	for before := m.arrived(); ; m.limit *= 2 {
		r, err := m.open(m.limit).Turn(ctx, c)
		if m.arrived() > before || ctx.Err() != nil { // else the request itself was late
			return r, err
		}
	}
}

func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		for _, f := range faults {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				good := modeltest.Turn{Text: "done", Calls: []modeltest.Call{{Name: "bash", Args: `{"command":"ls"}`}}}
				s := modeltest.New(t, modeltest.Script(append(f.turns, good)...))
				m := open(s.URL, patient)
				if f.turns[0].Fault.Silent > 0 {
					m = &firstHasty{Model: m, turns: len(f.turns), limit: 500 * time.Millisecond,
						open: func(limit time.Duration) model.Model { return open(s.URL, limit) }, arrived: func() int { return len(s.Requests()) }}
				}
				waits, over := 0, 0
				p := &model.Patience{Model: m, Tries: 3, Busy: 20 * time.Second, Base: 10 * time.Millisecond,
					Note: func(w model.Wait) {
						if w.Err != nil {
							waits++
						} else {
							over++
						}
					}}
				start := time.Now()
				r, err := p.Turn(t.Context(), talk(t))
				took := time.Since(start)
				want := f.calls
				if want == 0 {
					want = len(f.turns) + 1
				}
				if n := len(s.Requests()); n != want || waits != want-1 || over != min(1, waits) {
					t.Errorf("%d requests and %d waits, not %d; %d times it was over", n, waits, want, over)
				}
				outcome := fmt.Sprintf("the turn, after %d tries", want)
				if f.err == "" {
					if err != nil || r.Text != "done" || len(r.Calls) != 1 {
						t.Errorf("%v %+v", err, r)
					}
				} else {
					var trouble *model.Trouble
					if !errors.As(err, &trouble) || trouble.Kind != f.kind || !strings.Contains(err.Error(), f.err) {
						t.Errorf("%v", err)
					}
					outcome = fmt.Sprint(err)
				}
				if strings.Contains(f.name, "retry-after") && took < 400*time.Millisecond { // no machine is so fast that it meets this
					t.Errorf("two waits of 200 ms took %v", took)
				}
				if os.Getenv("WARD_FAULTS") != "" {
					fmt.Printf("FAULT\t%s\t%s\n", t.Name(), outcome)
				}
			})
		}
	})
}

// TestSlowBytes: an answer that takes far longer than silence may last is no silent one,
// where its events come one by one. A machine that halts for longer than the limit gets a
// greater one; who does not count the events passes with none.
func TestSlowBytes(t *testing.T) {
	tier.First(t, "a slow provider")
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		end := await.Deadline(t)
		for limit := 200 * time.Millisecond; ; limit *= 2 {
			s := modeltest.New(t, modeltest.Script(modeltest.Turn{Text: strings.Repeat("word by word ", 40), Fault: modeltest.Fault{Slow: limit / 400}}))
			start := time.Now()
			r, err := open(s.URL, limit).Turn(t.Context(), talk(t))
			took := time.Since(start)
			switch {
			case err == nil && took < 2*limit:
				t.Fatalf("the answer of %d bytes was not slow: %v", len(r.Text), took)
			case err == nil:
				return
			case !errors.Is(err, model.ErrSilent) || time.Until(end) < 4*took:
				t.Fatalf("with a limit of %v: %v after %v", limit, err, took)
			}
		}
	})
}

// TestStops: a turn that the limit cut off, in words or in a call, and a refusal.
func TestStops(t *testing.T) {
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		s := modeltest.New(t, modeltest.Script(
			modeltest.Turn{Text: "I begin", Stop: modeltest.Truncated},
			modeltest.Turn{Stop: modeltest.Truncated, Calls: []modeltest.Call{{Name: "bash", Args: `{"command":"ls"}`}, {Name: "write_file", Args: `{"path":"a","cont`}}},
			modeltest.Turn{Text: "No.", Stop: modeltest.Refused},
		))
		m, c := open(s.URL, patient), talk(t)
		r, err := m.Turn(t.Context(), c)
		if err != nil || r.Stop != model.Truncated || r.Text != "I begin" {
			t.Fatalf("%v %+v", err, r)
		}
		answer(c, r, "Go on.")
		r, err = m.Turn(t.Context(), c)
		if err != nil || r.Stop != model.Truncated || len(r.Calls) != 2 || r.Calls[0].Fault != "" || !strings.Contains(r.Calls[1].Fault, "cut off") {
			t.Fatalf("%v %+v", err, r)
		}
		answer(c, r, "result")
		r, err = m.Turn(t.Context(), c)
		if err != nil || r.Stop != model.Declined || r.Text != "No." {
			t.Errorf("%v %+v", err, r)
		}
	})
}

// TestCancel: the end of the context ends a turn at once, and is no trouble that
// is tried again.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		s := modeltest.New(t, modeltest.Script(fails(3, modeltest.Fault{Silent: 2})...))
		ctx, cancel := context.WithCancel(t.Context())
		p := &model.Patience{Model: open(s.URL, time.Minute), Tries: 3, Busy: time.Minute}
		ended := make(chan error, 1)
		c := talk(t)
		go func() {
			_, err := p.Turn(ctx, c)
			ended <- err
		}()
		await.True(t, "a request", func() bool { return len(s.Requests()) > 0 })
		cancel()
		if err := await.Value(t, "the end of the turn", ended); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if n := len(s.Requests()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestWindow: a conversation of many large results goes on for ever in a small
// window, whatever the provider counts, and keeps its system prompt.
func TestWindow(t *testing.T) {
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		s := modeltest.New(t, func(r *modeltest.Request) modeltest.Turn {
			return modeltest.Turn{Text: "on", Calls: []modeltest.Call{{Name: "bash", Args: fmt.Sprintf(`{"command":"%d"}`, r.N)}}}
		})
		s.Window(3000)
		w := &model.Window{Model: open(s.URL, patient), Tokens: 8000, Output: 500} // the setting is wrong, too
		c := talk(t)
		for i := range 40 {
			r, err := w.Turn(t.Context(), c)
			if err != nil {
				t.Fatalf("turn %d: %v", i, err)
			}
			answer(c, r, strings.Repeat("x", 1500))
		}
		if c.Turns() != 40 {
			t.Errorf("%d turns were counted", c.Turns())
		}
		all := s.Requests()
		refused := 0
		for _, r := range all {
			if r.Tokens > 3000 {
				refused++
			} else if r.System != "You are an agent." {
				t.Error("the system prompt is gone")
			}
		}
		if last := all[len(all)-1]; len(last.Results) != 1 || !strings.HasPrefix(last.Results[0].Text, "xxx") {
			t.Errorf("the newest result is gone: %.100q", last.Results)
		}
		if !strings.Contains(string(all[len(all)-1].Body), "left out to make room") {
			t.Error("nothing was left out")
		}
		if refused == 0 || refused > 10 {
			t.Errorf("%d of %d requests were refused", refused, len(all))
		}
	})
}

// TestWindowTooSmall ends with the trouble, and not in a loop.
func TestWindowTooSmall(t *testing.T) {
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		s := modeltest.New(t, modeltest.Script())
		s.Window(10)
		_, err := (&model.Window{Model: open(s.URL, patient), Tokens: 8000, Output: 500}).Turn(t.Context(), talk(t))
		var trouble *model.Trouble
		if !errors.As(err, &trouble) || trouble.Kind != model.TooLong && trouble.Kind != model.Rejected {
			t.Error(err)
		}
	})
}

// TestSilentEnd: a model that has worked may end without a word.
func TestSilentEnd(t *testing.T) {
	each(t, func(t *testing.T, open func(string, time.Duration) model.Model) {
		s := modeltest.New(t, func(*modeltest.Request) modeltest.Turn { return modeltest.Turn{} })
		p := &model.Patience{Model: open(s.URL, patient), Tries: 2, Base: time.Millisecond}
		c := talk(t)
		answer(c, model.Reply{Calls: []model.Call{{ID: "1", Name: "bash", Args: json.RawMessage(`{"command":"ls"}`)}}}, "result")
		if r, err := p.Turn(t.Context(), c); err != nil || r.Text != "" || len(s.Requests()) != 2 {
			t.Errorf("%v %+v after %d requests", err, r, len(s.Requests()))
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{"2": 2 * time.Second, "0.5": 500 * time.Millisecond, "": 0, "soon": 0, "-3": 0, "1e300": 0,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0} {
		if got := model.HTTP(429, "", "", http.Header{"Retry-After": {value}}).After; got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got := model.HTTP(429, "", "", http.Header{"Retry-After": {date}}).After; got < 59*time.Minute || got > time.Hour {
		t.Error(got)
	}
	if got := model.HTTP(429, "", "", http.Header{"Retry-After-Ms": {"20"}, "Retry-After": {"1"}}).After; got != 20*time.Millisecond {
		t.Error(got)
	}
}
