package gateway

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// maxCount is the most tokens of one kind that a call is believed to use.
const maxCount = 1_000_000_000

// reading is the usage that an answer has reported so far.
type reading struct {
	Usage
	// Input as OpenAI reports it, its parts read from and written to the cache, and the sum of
	// input and output.
	taken, cached, written, total int64

	odd     bool  // a malformed count was seen
	asked   bool  // Anthropic's uncached input was reported
	started bool  // the input side is complete
	told    bool  // the output, too, so far
	final   bool  // to the end
	begun   bool  // something other than an error came
	failed  bool  // the answer contains an error
	pieces  int64 // streamed pieces of text, at least a token each
	letters int64 // letters of text, without spaces
}

// answer reads a part of an answer, an event's object or a whole one, by its protocol.
type answer func(f fields, r *reading)

// tap reads the usage from an answer that passes through.
type tap struct {
	reading
	parse  answer
	stream bool // events, else one JSON text
	bytes  int64
	line   []byte
	long   bool         // the line is skipped: over maxEvent, or no memory for it
	lend   func() *loan // of maxEvent bytes, nil where there are none
	loan   *loan        // of the line
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
	size := len(t.line) + len(part)
	if !t.long && size > smallEvent && t.loan == nil {
		t.loan = t.lend()
		t.long = t.loan == nil
	}
	if t.long = t.long || size > maxEvent; t.long {
		t.line = nil
		return
	}
	t.line = append(t.line, part...)
}

// end handles the end of a line, or of an unstreamed answer.
func (t *tap) end() {
	event := t.line
	if t.stream {
		// SSE (WHATWG HTML, 9.2.6); every provider sends one data line an event.
		event, _ = bytes.CutPrefix(event, []byte("data:"))
	}
	event = bytes.TrimSpace(event)
	t.final = t.final || t.stream && t.told && string(event) == "[DONE]" // from servers that report more than the last counts
	if !t.long && len(event) > 0 && event[0] == '{' {
		if f, err := decodeFields(event); err == nil {
			t.event(f)
		}
	}
	t.line, t.long = t.line[:0], false
	t.forget()
}

// forget gives back the memory of a line.
func (t *tap) forget() {
	if cap(t.line) > smallEvent {
		t.line = nil
	}
	t.loan.shrink(0)
	t.loan = nil
}

func (t *tap) event(f fields) {
	if isError(f) {
		t.failed = true
		t.words(f.within("error").get("failed_generation"), false) // some servers bill an answer that did not fit
	} else if f.text("type") != "ping" {
		t.begun = true
	}
	t.parse(f, &t.reading)
}

// used is a call's charge, and whether it exceeds a complete report. If only the input was
// reported, the reserved output is charged: otherwise a client that hangs up in time would get
// thinking, which is billed but not shown, for free. If nothing was reported, the whole
// reservation is charged. Streamed text is charged in any case.
func (t *tap) used(reserved Charge, price Price) (c Charge, estimated bool) {
	streamed := t.streamed()
	c = Charge{Usage: t.Usage}
	switch {
	case t.final && t.Output >= streamed:
	case t.final:
		c.Usage.Output, estimated = streamed, true
	case t.started:
		c.Usage.Output, estimated = max(t.Output, streamed, reserved.Usage.Output), true
	default:
		c = reserved
		c.Usage.Output = max(c.Usage.Output, t.Output, streamed)
		c.Cost = max(c.Cost, price.cost(c.Usage))
		return c, true
	}
	c.Cost = price.cost(c.Usage)
	return c, estimated
}

// streamed is the least number of tokens in the streamed text: at least one a piece, and on
// average at least one for five letters in any language.
func (r *reading) streamed() int64 { return max(r.pieces, r.letters/5) }

// isError reports whether an event, or an answer, is an error of one of the APIs.
func isError(f fields) bool {
	kind := f.text("type")
	return kind == "error" || kind == "response.failed" || f.get("error").Kind() == '{'
}

// text is a member's value if it is a short string, else "".
func (f fields) text(name string) string {
	text, _ := shortText(f.get(name))
	return text
}

// within is the members of an object member, else none.
func (f fields) within(name string) fields {
	if f.get(name).Kind() != '{' {
		return nil
	}
	in, _ := decodeFields(f.get(name))
	return in
}

// tokens is a count: a non-negative number, rounded up. Anything else counts as absent.
func tokens(v jsontext.Value) (n int64, ok bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < 0 {
		return 0, false
	}
	return int64(math.Ceil(min(f, maxCount))), true
}

// raise sets a count if the new one is larger: totals only grow, and servers that omit one in
// an event may write 0.
func (r *reading) raise(to *int64, v jsontext.Value) (told bool) {
	n, ok := tokens(v)
	*to = max(*to, n)
	r.odd = r.odd || !ok && v != nil && v.Kind() != 'n'
	return ok
}

// worded are an answer's members with the model's text.
var worded = map[string]bool{"text": true, "partial_json": true, "thinking": true, "content": true, "reasoning_content": true,
	"arguments": true, "refusal": true, "delta": true, "input": true}

// words counts the model's text in a part of an answer, in one pass.
func (r *reading) words(v jsontext.Value, streamed bool) {
	if v == nil {
		return
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	name := "text" // of a string alone
	for {
		t, err := d.ReadToken()
		if err != nil {
			return
		}
		switch kind, n := d.StackIndex(d.StackDepth()); {
		case kind == '{' && n%2 == 1:
			name = t.String()
		case t.Kind() == '"' && kind != '[' && worded[name]:
			r.count(t.String(), streamed)
		}
	}
}

func (r *reading) count(text string, streamed bool) {
	if text != "" && streamed {
		r.pieces++
		r.final = false // counts followed by text are not final
	}
	for _, letter := range text {
		if !unicode.IsSpace(letter) {
			r.letters++
		}
	}
}

// anthropicAnswer reads message_start, message_delta (running totals), pieces of a message,
// and whole messages. A message_delta without a stop reason is not final.
func anthropicAnswer(f fields, r *reading) {
	switch f.text("type") {
	case "message_start":
		r.anthropic(f.within("message").within("usage"))
	case "content_block_delta":
		r.words(f.get("delta"), true)
	case "message":
		r.words(f.get("content"), false)
		r.final = r.anthropic(f.within("usage"))
	case "message_delta":
		r.final = r.anthropic(f.within("usage")) && f.within("delta").text("stop_reason") != ""
	}
}

// anthropic reads counts, and reports whether they are all that a message's end has.
func (r *reading) anthropic(u fields) (whole bool) {
	r.asked = r.raise(&r.Input, u.get("input_tokens")) || r.asked
	output := r.raise(&r.Output, u.get("output_tokens"))
	r.raise(&r.CacheRead, u.get("cache_read_input_tokens"))
	// The last event repeats the sum, but not always the one-hour part of it.
	write := r.CacheWrite + r.CacheWriteLong
	r.raise(&write, u.get("cache_creation_input_tokens"))
	r.raise(&r.CacheWriteLong, u.within("cache_creation").get("ephemeral_1h_input_tokens"))
	r.CacheWriteLong = min(r.CacheWriteLong, write)
	r.CacheWrite = write - r.CacheWriteLong
	// A request has input: a server that says 0 does not know it yet.
	r.started = r.asked && r.Input+r.CacheRead+write > 0
	return output && r.started && !r.odd
}

// openAI reads counts. The two APIs' names differ but not their meaning: input includes cache
// reads and, on servers that bill them, cache writes. Some servers omit thinking from the
// output and include it only in the sum.
func (r *reading) openAI(u fields) {
	r.odd = false
	r.raise(&r.taken, u.get("input_tokens"))
	r.raise(&r.taken, u.get("prompt_tokens"))
	answered := r.raise(&r.Output, u.get("output_tokens"))
	answered = r.raise(&r.Output, u.get("completion_tokens")) || answered
	r.raise(&r.total, u.get("total_tokens"))
	r.raise(&r.written, u.get("cache_creation_input_tokens"))
	for _, details := range []fields{u.within("input_tokens_details"), u.within("prompt_tokens_details")} {
		r.raise(&r.cached, details.get("cached_tokens"))
		r.raise(&r.written, details.get("cache_write_tokens"))
		r.raise(&r.written, details.get("cache_creation_tokens"))
	}
	r.CacheRead = min(r.cached, r.taken)
	r.CacheWrite = min(r.written, r.taken-r.CacheRead)
	r.Input = r.taken - r.CacheRead - r.CacheWrite
	if r.started = r.taken > 0; r.started {
		r.Output = max(r.Output, r.total-r.taken)
	}
	r.told = (answered || r.told) && r.started && !r.odd
}

// chatAnswer reads a completion or a chunk; a chunk without choices ends a stream. Some
// servers send counts in every chunk: those are not final, nor are those of an empty answer.
func chatAnswer(f fields, r *reading) {
	chunk := f.text("object") == "chat.completion.chunk"
	r.words(f.get("choices"), chunk)
	if u := f.within("usage"); u != nil {
		r.openAI(u)
		r.final = r.told && (!chunk || r.Output > 0 && len(bytes.Trim(f.get("choices"), "[] \t\r\n")) == 0)
	}
}

// responseAnswer reads a response or an event; the event that ends a response contains it.
func responseAnswer(f fields, r *reading) {
	kind := f.text("type")
	switch {
	case strings.HasSuffix(kind, ".delta") && !strings.Contains(kind, "summary"): // a summary of thinking is not billed
		r.words(f.get("delta"), true)
	case kind == "response.completed", kind == "response.incomplete", kind == "response.failed":
		r.openAI(f.within("response").within("usage"))
		r.final = r.told
	case !strings.HasPrefix(kind, "response."):
		r.words(f.get("output"), false)
		r.openAI(f.within("usage"))
		r.final = r.told
	}
}
