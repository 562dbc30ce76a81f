package gateway

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// call is a request that may go out.
type call struct {
	model  string
	stream bool
	body   []byte // what goes out
	input  int64  // tokens that it may take in, at most as far as can be told
	output int64  // tokens that it may give, which the provider is told too
}

// endpoint is one inference path that takes a body.
type endpoint struct {
	fields map[string]check
	usage  func(event []byte, u *reading) // reads an answer's event, or an answer
	// limits are the members that bound the output; the last one is added to a
	// request that has none, so that the reservation is true.
	limits []string
	adjust func(fields) (changed bool, err error)
	free   bool // not billed
}

// read checks a body and works out what its call can cost.
func (e *endpoint) read(body []byte, maxOutput int64) (*call, error) {
	f, err := decodeFields(body)
	if err != nil {
		return nil, err
	}
	if err := f.only(e.fields); err != nil {
		return nil, err
	}
	c := &call{body: body}
	if err := f.into("model", &c.model); err != nil || c.model == "" {
		return nil, errors.New("model: missing or not a string")
	}
	if err := f.into("stream", &c.stream); err != nil {
		return nil, err
	}
	if e.free {
		return c, nil
	}
	c.input = mostInput(len(body))
	changed, err := e.limit(f, c, maxOutput)
	if err == nil && e.adjust != nil {
		var also bool
		also, err = e.adjust(f)
		changed = changed || also
	}
	if err == nil && changed {
		c.body, err = json.Marshal(f, json.Deterministic(true))
	}
	return c, err
}

// maxAsked is the most output tokens that a call may ask for, far above what any
// model gives; it keeps sums of reservations within 64 bits.
const maxAsked = 10_000_000

// mostInput is how many tokens a request of so many bytes takes in: half of the
// bytes, which no text's tokenizer passes on average, and a little for the
// prompt that providers add to tools. (A tiny file can hold pages that count as
// more; what it does count is charged when the answer tells.)
func mostInput(bytes int) int64 { return int64(bytes)/2 + 1024 }

// limit finds the bound on the output: the largest that is set. Where none is,
// maxOutput is added to the request.
func (e *endpoint) limit(f fields, c *call, maxOutput int64) (added bool, err error) {
	for _, name := range e.limits {
		var n *int64
		if err := f.into(name, &n); err != nil {
			return false, err
		}
		if n == nil {
			continue
		}
		if *n < 1 || *n > maxAsked {
			return false, fmt.Errorf("%s: %d is not a number of tokens", name, *n)
		}
		c.output = max(c.output, *n)
	}
	if c.output > 0 {
		return false, nil
	}
	c.output = maxOutput
	f[e.limits[len(e.limits)-1]] = jsontext.Value(strconv.FormatInt(maxOutput, 10))
	return true, nil
}

// into decodes a member if it is there.
func (f fields) into(name string, v any) error {
	raw, ok := f[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// tellUsage makes a streamed chat completion end with its usage, which the
// provider leaves out unless asked. The client sees that last chunk too.
func tellUsage(f fields) (bool, error) {
	var stream bool
	if err := f.into("stream", &stream); err != nil || !stream {
		return false, err
	}
	options := fields{}
	if err := f.into("stream_options", &options); err != nil {
		return false, err
	}
	if string(options["include_usage"]) == "true" {
		return false, nil
	}
	if options == nil {
		options = fields{}
	}
	options["include_usage"] = jsontext.Value("true")
	raw, err := json.Marshal(options, json.Deterministic(true))
	f["stream_options"] = raw
	return true, err
}

// keepNothing switches off the storing that Responses does unless told not to, and
// takes out what only tells of the client.
func keepNothing(f fields) (bool, error) {
	if _, told := f[telemetry]; told {
		delete(f, telemetry)
		f["store"] = jsontext.Value("false")
		return true, nil
	}
	if _, told := f["store"]; told && string(f["store"]) == "false" {
		return false, nil
	}
	f["store"] = jsontext.Value("false")
	return true, nil
}
