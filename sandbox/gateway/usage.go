package gateway

import (
	"bytes"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxEvent is the size in bytes of an event or an answer that is read for
	// its usage; larger ones pass and are charged by estimate.
	maxEvent = 16 << 20
	// maxCount is the most tokens of one kind that a call is believed to use.
	maxCount = 1_000_000_000
	// fastest is how many tokens a second no model passes. It bounds what a cut
	// call has used: thinking is billed but not always shown, so the bytes of an
	// answer alone would let a client that hangs up in time think for nothing.
	fastest = 500
)

// reading is what an answer has told of its usage so far.
type reading struct {
	Usage
	started bool // the input side is known
	final   bool // the rest too
	failed  bool // the answer has an error in it
}

// tap reads the usage out of an answer that passes by.
type tap struct {
	reading
	parse  func(event []byte, u *reading)
	stream bool // events, else one JSON text
	bytes  int64
	line   []byte
	long   bool // the line is over maxEvent and not read
}

// write looks at a chunk.
func (t *tap) write(chunk []byte) {
	t.bytes += int64(len(chunk))
	for t.stream {
		line, rest, found := bytes.Cut(chunk, []byte("\n"))
		if !found {
			break
		}
		t.keep(line)
		t.end()
		chunk = rest
	}
	t.keep(chunk)
}

func (t *tap) keep(part []byte) {
	t.long = t.long || len(t.line)+len(part) > maxEvent
	if t.long {
		t.line = nil
		return
	}
	t.line = append(t.line, part...)
}

// end is the end of a line, or of an answer that is no stream.
func (t *tap) end() {
	event := t.line
	if t.stream {
		// SSE (WHATWG HTML, 9.2.6); every provider sends one data line an event.
		event, _ = bytes.CutPrefix(bytes.TrimRight(event, "\r"), []byte("data:"))
	}
	if !t.long && bytes.Contains(event, []byte(`"usage"`)) {
		t.parse(event, &t.reading)
	}
	if !t.long && bytes.Contains(event, []byte(`"error"`)) {
		t.failed = t.failed || isError(event)
	}
	t.line, t.long = t.line[:0], false
}

// used is what a call is charged. Where the answer did not tell to its end, that
// is an estimate: what was told, else what was reserved, for the input; for the
// output a token for four bytes of the answer, or the fastest model's in that
// time, whichever is more, but not more than was reserved.
func (t *tap) used(c *call, took time.Duration) (u Usage, estimated bool) {
	u = t.Usage
	if t.final {
		return u, false
	}
	if !t.started {
		u = Usage{Input: c.input, Output: u.Output}
	}
	guess := max(t.bytes/4, int64(took.Seconds()*fastest)+1)
	u.Output = max(u.Output, min(guess, c.output))
	return u, true
}

// isError reports whether an event, or an answer, is an error of one of the APIs.
func isError(event []byte) bool {
	var e struct {
		Type  string         `json:"type"`
		Error jsontext.Value `json:"error"`
	}
	return decode(event, &e) && (e.Type == "error" || e.Type == "response.failed" || len(e.Error) > 0 && e.Error.Kind() == '{')
}

// decode reads a provider's JSON, which is trusted to be what it is.
func decode(event []byte, v any) bool {
	return json.Unmarshal(event, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil
}

// set takes a count that is there over.
func set(to *int64, n *int64) {
	if n != nil {
		*to = min(max(*n, 0), maxCount)
	}
}

// raise takes a count over if it is larger: totals so far only grow, and a
// server that leaves one out in an event may write 0 for it.
func raise(to *int64, n *int64) {
	if n != nil {
		*to = max(*to, min(*n, maxCount))
	}
}

type anthropicUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	Creation   *struct {
		Long *int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// anthropicEvent reads message_start, message_delta, whose counts are totals so
// far, and a whole message.
func anthropicEvent(event []byte, u *reading) {
	var e struct {
		Type    string          `json:"type"`
		Usage   *anthropicUsage `json:"usage"`
		Message struct {
			Usage *anthropicUsage `json:"usage"`
		} `json:"message"`
	}
	if !decode(event, &e) {
		return
	}
	switch e.Type {
	case "message_start":
		u.anthropic(e.Message.Usage)
	case "message_delta", "message":
		u.anthropic(e.Usage)
		u.final = u.started && e.Usage != nil && e.Usage.Output != nil
	}
}

func (r *reading) anthropic(u *anthropicUsage) {
	if u == nil {
		return
	}
	r.started = r.started || u.Input != nil
	raise(&r.Input, u.Input)
	raise(&r.Output, u.Output)
	raise(&r.CacheRead, u.CacheRead)
	// The last event has the sum again but not always what of it is for an hour.
	write := r.CacheWrite + r.CacheWriteLong
	raise(&write, u.CacheWrite)
	if u.Creation != nil {
		raise(&r.CacheWriteLong, u.Creation.Long)
	}
	r.CacheWriteLong = min(r.CacheWriteLong, write)
	r.CacheWrite = write - r.CacheWriteLong
}

// openAIUsage is both APIs': their names differ, their meaning does not. Input
// includes what came from the cache.
type openAIUsage struct {
	Input  *int64       `json:"input_tokens"`
	Prompt *int64       `json:"prompt_tokens"`
	Output *int64       `json:"output_tokens"`
	Answer *int64       `json:"completion_tokens"`
	In     openAICached `json:"input_tokens_details"`
	InChat openAICached `json:"prompt_tokens_details"`
}

type openAICached struct {
	Cached *int64 `json:"cached_tokens"`
}

func (r *reading) openAI(u *openAIUsage) {
	if u == nil {
		return
	}
	set(&r.Input, u.Input)
	set(&r.Input, u.Prompt)
	set(&r.Output, u.Output)
	set(&r.Output, u.Answer)
	set(&r.CacheRead, u.In.Cached)
	set(&r.CacheRead, u.InChat.Cached)
	r.CacheRead = min(r.CacheRead, r.Input)
	r.Input -= r.CacheRead
	r.started = u.Input != nil || u.Prompt != nil
	r.final = r.started && (u.Output != nil || u.Answer != nil)
}

// chatEvent reads a completion, or the chunk without choices that ends a stream.
// Some servers send counts with every chunk: those are of no end.
func chatEvent(event []byte, u *reading) {
	var e struct {
		Object  string           `json:"object"`
		Choices []jsontext.Value `json:"choices"`
		Usage   *openAIUsage     `json:"usage"`
	}
	if decode(event, &e) {
		u.openAI(e.Usage)
		u.final = u.final && (e.Object != "chat.completion.chunk" || len(e.Choices) == 0)
	}
}

// responseEvent reads a response, or the event that ends a stream with one in it.
func responseEvent(event []byte, u *reading) {
	var e struct {
		Usage    *openAIUsage `json:"usage"`
		Response struct {
			Usage *openAIUsage `json:"usage"`
		} `json:"response"`
	}
	if decode(event, &e) {
		u.openAI(e.Usage)
		u.openAI(e.Response.Usage)
	}
}
