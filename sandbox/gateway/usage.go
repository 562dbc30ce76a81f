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

// reading is what an answer has told of its usage so far.
type reading struct {
	Usage
	// Input as OpenAI tells it, what of it came from the cache and went there, and the sum
	// of input and output.
	taken, cached, written, total int64

	odd     bool  // a count was there that is none
	asked   bool  // Anthropic's input was told, besides what the cache gave or took
	started bool  // the input side is known
	told    bool  // the output, too, so far
	final   bool  // to the end
	begun   bool  // something came that is no error
	failed  bool  // the answer has an error in it
	pieces  int64 // of words that were streamed, each at least a token
	letters int64 // of words, without spaces
}

// answer reads a part of an answer, an event's object or a whole one, by its protocol.
type answer func(f fields, r *reading)

// tap reads the usage out of an answer that passes by.
type tap struct {
	reading
	parse  answer
	stream bool // events, else one JSON text
	bytes  int64
	line   []byte
	long   bool         // the line is not read: over maxEvent, or there is no memory for it
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

// end is the end of a line, or of an answer that is no stream.
func (t *tap) end() {
	event := t.line
	if t.stream {
		// SSE (WHATWG HTML, 9.2.6); every provider sends one data line an event.
		event, _ = bytes.CutPrefix(event, []byte("data:"))
	}
	event = bytes.TrimSpace(event)
	t.final = t.final || t.stream && t.told && string(event) == "[DONE]" // of servers whose last counts are not alone
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

// used is what a call is charged, and whether that is more than the answer told to its end.
// Where it told of the input only, the output is what was reserved: a client that hangs up
// in time would think for nothing, because thinking is billed and not shown. Where it told
// nothing, all that was reserved is charged. What was streamed is charged in any case.
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

// streamed is how many tokens the words that came have at least: a piece has one, and in no
// language do five letters make less than one on average.
func (r *reading) streamed() int64 { return max(r.pieces, r.letters/5) }

// isError reports whether an event, or an answer, is an error of one of the APIs.
func isError(f fields) bool {
	kind := f.text("type")
	return kind == "error" || kind == "response.failed" || f.get("error").Kind() == '{'
}

// text is a member's value where that is a short string, "" where it is none.
func (f fields) text(name string) string {
	text, _ := shortText(f.get(name))
	return text
}

// within are the members of a member that is an object; none where it is not one.
func (f fields) within(name string) fields {
	if f.get(name).Kind() != '{' {
		return nil
	}
	in, _ := decodeFields(f.get(name))
	return in
}

// tokens is a count: a number that is not negative, rounded up. Anything else tells nothing.
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

// raise takes a count over if it is larger: totals so far only grow, and a
// server that leaves one out in an event may write 0 for it.
func (r *reading) raise(to *int64, v jsontext.Value) (told bool) {
	n, ok := tokens(v)
	*to = max(*to, n)
	r.odd = r.odd || !ok && v != nil && v.Kind() != 'n'
	return ok
}

// worded are the members of an answer whose texts are the model's.
var worded = map[string]bool{"text": true, "partial_json": true, "thinking": true, "content": true, "reasoning_content": true,
	"arguments": true, "refusal": true, "delta": true, "input": true}

// words counts the model's words in a part of an answer, in one pass.
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
		r.final = false // counts that words follow were of no end
	}
	for _, letter := range text {
		if !unicode.IsSpace(letter) {
			r.letters++
		}
	}
}

// anthropicAnswer reads message_start, message_delta, whose counts are totals so
// far, a piece of a message, and a whole message. A message_delta without a reason to stop
// is of no end.
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

// anthropic takes counts over, and reports whether all that a message's end tells is known.
func (r *reading) anthropic(u fields) (whole bool) {
	r.asked = r.raise(&r.Input, u.get("input_tokens")) || r.asked
	output := r.raise(&r.Output, u.get("output_tokens"))
	r.raise(&r.CacheRead, u.get("cache_read_input_tokens"))
	// The last event has the sum again but not always what of it is for an hour.
	write := r.CacheWrite + r.CacheWriteLong
	r.raise(&write, u.get("cache_creation_input_tokens"))
	r.raise(&r.CacheWriteLong, u.within("cache_creation").get("ephemeral_1h_input_tokens"))
	r.CacheWriteLong = min(r.CacheWriteLong, write)
	r.CacheWrite = write - r.CacheWriteLong
	// A request takes in something: a server that says 0 does not know it yet.
	r.started = r.asked && r.Input+r.CacheRead+write > 0
	return output && r.started && !r.odd
}

// openAI takes counts over. Both APIs' names differ, their meaning does not: the input
// includes what came from the cache and, at servers that bill it, what was written there.
// Some servers leave thoughts out of the output, and have them in the sum alone.
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

// chatAnswer reads a completion, or a chunk; the one without choices ends a stream.
// Some servers send counts with every chunk: those are of no end, nor is one of an answer
// in which there is nothing yet.
func chatAnswer(f fields, r *reading) {
	chunk := f.text("object") == "chat.completion.chunk"
	r.words(f.get("choices"), chunk)
	if u := f.within("usage"); u != nil {
		r.openAI(u)
		r.final = r.told && (!chunk || r.Output > 0 && len(bytes.Trim(f.get("choices"), "[] \t\r\n")) == 0)
	}
}

// responseAnswer reads a response, or an event; one that says how the response ended has it
// in it.
func responseAnswer(f fields, r *reading) {
	kind := f.text("type")
	switch {
	case strings.HasSuffix(kind, ".delta") && !strings.Contains(kind, "summary"): // a summary of thoughts is not billed
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
