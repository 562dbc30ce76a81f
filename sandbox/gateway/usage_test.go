package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"git-ward/internal/await"
)

const (
	messageBody  = `{"model":"claude-test","max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}`
	chatBody     = `{"model":"gpt-test","max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}`
	responseBody = `{"model":"gpt-test","max_output_tokens":1000,"input":"hi"}`

	messageStart = "event: message_start\ndata: " + `{"type":"message_start","message":{"type":"message","usage":{"input_tokens":25,"cache_read_input_tokens":1000,` +
		`"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":1}}}`
	messageText  = "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"say \"usage\": {\"output_tokens\": 9999999}"}}`
	messageDelta = "event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":150}}`
	messageStop  = "event: message_stop\ndata: " + `{"type":"message_stop"}`
	chatText     = `data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"hi"}}],"usage":null}`
	chatUsage    = `data: {"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":1200,"completion_tokens":80,"prompt_tokens_details":{"cached_tokens":1000}}}`
	responseDone = "event: response.completed\r\ndata: " + `{"type":"response.completed","response":{"object":"response","usage":{"input_tokens":1200,"input_tokens_details":{"cached_tokens":1000},"output_tokens":80}}}`
)

func usageOf(in, out, read, write, long int64) Usage { return Usage{in, out, read, write, long} }

func TestUsageIsCounted(t *testing.T) {
	long := strings.Repeat("data: {\"x\":\""+strings.Repeat("y", 1000)+"\"}\n\n", 2000)
	for name, c := range map[string]struct {
		path, body string
		events     []string // one JSON text if there is one without "data"
		want       Usage
		cost       string
	}{
		"message": {"/anthropic/v1/messages", messageBody, []string{`{"type":"message","usage":{"input_tokens":10,"output_tokens":20,"cache_read_input_tokens":null}}`}, usageOf(10, 20, 0, 0, 0), "0.00033"},
		// 25 x 3 + 150 x 15 + 1000 x 0.3 + 100 x 3.75 + 200 x 6, by a million
		"message stream": {"/anthropic/v1/messages", messageBody, []string{messageStart, messageText, messageDelta, messageStop}, usageOf(25, 150, 1000, 100, 200), "0.0042"},
		"message totals": {"/anthropic/v1/messages", messageBody, []string{messageStart, strings.Replace(messageDelta, `"output_tokens":150`,
			`"input_tokens":30,"output_tokens":150,"cache_read_input_tokens":0,"cache_creation_input_tokens":300`, 1)}, usageOf(30, 150, 1000, 100, 200), "0.004215"},
		"chat":            {"/openai/v1/chat/completions", chatBody, []string{strings.Replace(chatUsage[6:], ".chunk", "", 1)}, usageOf(200, 80, 1000, 0, 0), "0.001175"},
		"chat stream":     {"/openai/v1/chat/completions", chatBody, []string{chatText, chatUsage, "data: [DONE]"}, usageOf(200, 80, 1000, 0, 0), "0.001175"},
		"response":        {"/openai/v1/responses", responseBody, []string{`{"object":"response","usage":{"input_tokens":7,"output_tokens":3}}`}, usageOf(7, 3, 0, 0, 0), "0.00003875"},
		"response stream": {"/openai/v1/responses", responseBody, []string{"data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}", responseDone}, usageOf(200, 80, 1000, 0, 0), "0.001175"},
		"garbage between": {"/openai/v1/responses", responseBody, []string{"data: {\"usage\":", ": comment", "data", "\x00\xff", "data: {\"usage\":{\"input_tokens\":\"x\"}}", responseDone}, usageOf(200, 80, 1000, 0, 0), "0.001175"},
		"huge":            {"/openai/v1/responses", responseBody, []string{long, responseDone}, usageOf(200, 80, 1000, 0, 0), "0.001175"},
		"odd counts":      {"/openai/v1/responses", responseBody, []string{`{"usage":{"input_tokens":5.2e0,"output_tokens":3.0,"input_tokens_details":{"cached_tokens":99}}}`}, usageOf(0, 3, 6, 0, 0), "0.00003075"},
		"last but one":    {"/openai/v1/chat/completions", chatBody, []string{strings.Replace(chatUsage, `"choices":[]`, `"choices":[{"delta":{}}]`, 1), "data: [DONE]"}, usageOf(200, 80, 1000, 0, 0), "0.001175"},
	} {
		t.Run(name, func(t *testing.T) {
			up := newStandIn(t, func(w http.ResponseWriter, _ *http.Request) {
				if len(c.events) == 1 {
					answerJSON(w, 200, c.events[0])
					return
				}
				stream(w, c.events...)
			})
			f := newFence(t, up.URL)
			status, answer, err := f.post(c.path, c.body)
			if want := strings.Join(c.events, "\n\n"); status != 200 || err != nil || strings.TrimRight(answer, "\n") != strings.TrimRight(want, "\n") {
				t.Errorf("%d %v: the answer is not the provider's: %.200s", status, err, answer)
			}
			a := f.account()
			if a.Used.Usage != c.want || a.Used.Cost.String() != c.cost || a.Used.Calls != 1 || a.Estimated != 0 {
				t.Errorf("%+v, want %+v for %s", a, c.want, c.cost)
			}
		})
	}
}

// Where the provider does not tell, the charge is an estimate; where it refuses,
// nothing.
func TestFaultsAreCharged(t *testing.T) {
	reserved := int64(len(messageBody)) + hidden
	for name, c := range map[string]struct {
		answer     http.HandlerFunc
		status     int
		broken     bool // the client sees that the answer is not whole
		input      int64
		atLeastOut int64
		estimated  int64
	}{
		"no usage":      {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, strings.Repeat("x", 400)) }, 200, false, reserved, 100, 1},
		"not JSON":      {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, `{"usage":`+strings.Repeat("x", 400)) }, 200, false, reserved, 100, 1},
		"most is given": {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, strings.Repeat("x", 40_000)) }, 200, false, reserved, 1000, 1},
		"cut at once": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 200, true, reserved, 1, 1},
		"cut late": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, messageStart, messageText, messageText)
			panic(http.ErrAbortHandler)
		}, 200, true, 25, 120, 1},
		"cut before a word": {func(w http.ResponseWriter, _ *http.Request) { // it may have thought, which is not shown
			stream(w, messageStart)
			panic(http.ErrAbortHandler)
		}, 200, true, 25, 250, 1},
		"ends early": {func(w http.ResponseWriter, _ *http.Request) { stream(w, messageStart, messageText) }, 200, false, 25, 80, 1},
		"error within": {func(w http.ResponseWriter, _ *http.Request) {
			stream(w, messageStart, `event: error`+"\n"+`data: {"type":"error","error":{"type":"overloaded_error"}}`)
		}, 200, false, 25, 80, 1},
		"429": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			answerJSON(w, 429, `{"type":"error"}`)
		}, 429, false, 0, 0, 0},
		"500": {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 500, `{"type":"error"}`) }, 500, false, 0, 0, 0},
		"401": {func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 401, `{"type":"error"}`) }, 401, false, 0, 0, 0},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/v1/messages", http.StatusPermanentRedirect)
		}, 502, false, 0, 0, 0},
		"dies":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 502, false, reserved, 1, 1},
		"silent": {func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 504, false, reserved, 1, 1},
		"falls silent": {func(w http.ResponseWriter, r *http.Request) {
			stream(w, messageStart)
			<-r.Context().Done()
		}, 200, true, 25, 100, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newStandIn(t, c.answer)
			// None but a silent provider meets the limit of silence. One that has said something
			// before it gets twice as much where it was too late to say it.
			silence := time.Hour
			if strings.Contains(name, "silent") {
				silence = 300 * time.Millisecond
			}
			var f *fence
			var status int
			var answer string
			var err error
			for end := await.Deadline(t); ; silence *= 2 {
				f = newFence(t, up.URL, func(c *Config) { c.Limits.Silence = silence })
				status, answer, err = f.post("/anthropic/v1/messages", messageBody)
				if status != http.StatusGatewayTimeout || c.status == status || time.Until(end) < 4*silence {
					break
				}
			}
			if status != c.status || (err != nil) != c.broken {
				t.Errorf("%d %.200s %v", status, answer, err)
			}
			a := f.account()
			out := a.Used.Usage.Output
			if a.Used.Usage.Input != c.input || out < c.atLeastOut || out > 1000 || a.Estimated != c.estimated || a.Used.Calls != 1 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// A client that hangs up ends the call at the provider and pays for it.
func TestClientThatHangsUp(t *testing.T) {
	ended := make(chan bool, 1)
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, messageStart)
		<-r.Context().Done()
		ended <- true
	})
	f := newFence(t, up.URL)
	resp, err := f.client.Post("http://g/anthropic/v1/messages", "application/json", strings.NewReader(messageBody))
	if err != nil {
		t.Fatal(err)
	}
	io.ReadAtLeast(resp.Body, make([]byte, 50), 50)
	resp.Body.Close()
	await.Value(t, "the end of the call at the provider", ended)
	if a := f.account(); a.Estimated != 1 || a.Used.Usage.Input != 25 {
		t.Errorf("%+v", a)
	}
}

// A provider that cannot be reached costs nothing.
func TestNobodyThere(t *testing.T) {
	up := newStandIn(t, okAnswer)
	url := up.URL
	up.Close()
	f := newFence(t, url)
	status, answer, _ := f.post("/anthropic/v1/messages", messageBody)
	if a := f.account(); status != 502 || a.Used.Usage.Tokens() != 0 || strings.Contains(answer, "127.0.0.1") {
		t.Errorf("%d %s %+v", status, answer, a)
	}
}

// TestClaimsAreNotBelieved: a count that is no count tells nothing, so what was reserved is
// charged; one that is lower than the words that came is raised to those; one that is larger
// than can be stays a number.
func TestClaimsAreNotBelieved(t *testing.T) {
	input := int64(len(responseBody)) + hidden
	word := `data: {"type":"response.output_text.delta","delta":"word"}`
	done := func(usage string) string {
		return `data: {"type":"response.completed","response":{"object":"response","usage":` + usage + `}}`
	}
	many := strings.Repeat(word+"\n\n", 299) + word
	for name, c := range map[string]struct {
		events []string
		want   Usage
	}{
		"negative input":  {[]string{word, done(`{"input_tokens":-5,"output_tokens":3}`)}, usageOf(input, 1000, 0, 0, 0)},
		"negative output": {[]string{word, done(`{"input_tokens":5,"output_tokens":-3}`)}, usageOf(5, 1000, 0, 0, 0)},
		"no number":       {[]string{word, done(`{"input_tokens":"5","output_tokens":NaN}`)}, usageOf(input, 1000, 0, 0, 0)},
		"huge":            {[]string{word, done(`{"input_tokens":1e300,"output_tokens":99999999999999999999}`)}, usageOf(maxCount, maxCount, 0, 0, 0)},
		"too few":         {[]string{many, done(`{"input_tokens":5,"output_tokens":3}`)}, usageOf(5, 300, 0, 0, 0)},
		"nothing in":      {[]string{many, done(`{"input_tokens":0,"output_tokens":300}`)}, usageOf(input, 1000, 0, 0, 0)},
		"before the end":  {[]string{`data: {"type":"response.in_progress","response":{"usage":{"input_tokens":1,"output_tokens":0}}}`, word}, usageOf(input, 1000, 0, 0, 0)},
		"in a text": {[]string{`data: {"type":"response.output_text.delta","delta":"x","usage":{"input_tokens":1,"output_tokens":1}}`,
			`data: {"type":"response.output_text.delta","delta":"{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}"}`}, usageOf(input, 1000, 0, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFence(t, newStandIn(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, c.events...) }).URL)
			f.post("/openai/v1/responses", responseBody)
			if a := f.account(); a.Used.Usage != c.want {
				t.Errorf("%+v, want %+v", a.Used.Usage, c.want)
			}
		})
	}
}

// TestAnswerWithoutEnd: a provider that goes on beyond what was asked for is cut before it
// costs far more than was reserved.
func TestAnswerWithoutEnd(t *testing.T) {
	sent := 0
	up := newStandIn(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w)
		for ; r.Context().Err() == nil && sent < 2_000_000; sent++ {
			io.WriteString(w, `data: {"type":"response.output_text.delta","delta":"word "}`+"\n\n")
		}
	})
	f := newFence(t, up.URL, func(c *Config) { c.Limits.MaxOutput = 2000 })
	w := `{"model":"gpt-test","max_output_tokens":1000,"input":"hi","stream":true}`
	if _, _, err := f.post("/openai/v1/responses", w); err == nil {
		t.Error("the answer came whole")
	}
	if a := f.account(); a.Used.Usage.Output < 3000 || a.Used.Usage.Output > 6000 || a.Estimated != 1 {
		t.Errorf("%+v after %d words", a, sent)
	}
}

// No answer makes its reading panic, count below nothing or beyond belief, or depend on how
// it was cut into chunks.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{messageStart, messageText, messageDelta, chatText, chatUsage, responseDone, "data: [DONE]", `{"type":"message","usage":{"input_tokens":1e99}}`} {
		f.Add([]byte(text+"\n"), 7, true)
		f.Add([]byte(strings.TrimPrefix(text, "data: ")), 1, false)
	}
	answers := []answer{anthropicAnswer, chatAnswer, responseAnswer}
	f.Fuzz(func(t *testing.T, text []byte, at int, events bool) {
		for i, parse := range answers {
			whole, cut := tap{parse: parse, stream: events}, tap{parse: parse, stream: events}
			whole.write(text)
			whole.end()
			half := min(max(at, 0), len(text))
			cut.write(text[:half])
			cut.write(text[half:])
			cut.end()
			if whole.reading != cut.reading {
				t.Fatalf("%d: %+v, cut at %d %+v", i, whole.reading, half, cut.reading)
			}
			for _, n := range []int64{whole.Input, whole.Output, whole.CacheRead, whole.CacheWrite, whole.CacheWriteLong, whole.streamed()} {
				if n < 0 || n > maxCount {
					t.Fatalf("%d: %+v", i, whole.reading)
				}
			}
		}
	})
}
