package gateway

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// call is a request that may be sent.
type call struct {
	model  string
	stream bool
	parts  [][]byte // the body to send, in slices of the received one
	left   []string // names of dropped members
	seen   seen
	input  int64 // upper bound of input tokens
	likely int64 // expected input tokens
	output int64 // upper bound of output tokens, also sent to the provider
}

// endpoint is an inference path with a body.
type endpoint struct {
	fields map[string]check
	answer answer // reads an answer
	// limits are the members that bound the output; the last is added to a request without
	// any, so that the reservation is true.
	limits []string
	part   check // the parts of its content
	adjust func(f *fields, s *seen) error
	free   bool // not billed
}

// read checks a body by the rules in s, and computes its highest cost.
func (e *endpoint) read(body []byte, l Limits, s seen) (*call, error) {
	if err := wellFormed(body, l); err != nil {
		return nil, err
	}
	f, err := decodeFields(body)
	if err != nil {
		return nil, err
	}
	c := &call{seen: s}
	c.seen.tool, c.seen.part = e.fields["tools"], e.part
	if f.get("model") == nil {
		return nil, errors.New("model: missing")
	}
	// Unknown members change how the provider works in unknown ways. They are dropped, so that
	// a new release of a client still works.
	if c.left, err = f.keep(e.fields); err != nil {
		return nil, err
	}
	if err := f.only(e.fields, &c.seen); err != nil {
		return nil, err
	}
	if err := errors.Join(f.into("model", &c.model), f.into("stream", &c.stream)); err != nil || e.free {
		c.parts = f.parts()
		return c, err
	}
	if err = e.limit(&f, c, l.MaxOutput); err == nil && e.adjust != nil {
		err = e.adjust(&f, &c.seen)
	}
	c.parts = f.parts() // rewritten: the provider reads exactly what was checked
	c.input, c.likely = c.seen.input(spelledOut(body), c.model)
	if c.output += c.seen.output; c.seen.thinking >= c.output {
		c.output += c.seen.thinking
	}
	return c, err
}

// maxAsked is the most output tokens that a call may ask for, far above any model's limit, so
// that sums of reservations fit in 64 bits.
const maxAsked = 10_000_000

// limit is the largest bound on the output in the request. Without one it adds maxOutput.
func (e *endpoint) limit(f *fields, c *call, maxOutput int64) error {
	for _, name := range e.limits {
		var n *int64
		if err := f.into(name, &n); err != nil {
			return err
		}
		if n == nil {
			continue
		}
		if *n < 1 || *n > maxAsked {
			return fmt.Errorf("%s: %d is not a number of tokens", name, *n)
		}
		c.output = max(c.output, *n)
	}
	if c.output == 0 {
		c.output = maxOutput
		f.set(e.limits[len(e.limits)-1], strconv.FormatInt(maxOutput, 10))
	}
	return nil
}

// tellUsage makes a streamed chat completion end with its usage, which is opt-in. The client
// sees that last chunk too.
func tellUsage(f *fields, s *seen) error {
	ownTier(f, s)
	var stream bool
	if err := f.into("stream", &stream); err != nil || !stream {
		return err
	}
	var options fields
	if raw := f.get("stream_options"); raw != nil && raw.Kind() != 'n' {
		var err error
		if options, err = decodeFields(raw); err != nil {
			return fmt.Errorf("stream_options: %w", err)
		}
	}
	options.set("include_usage", "true")
	f.set("stream_options", options.String())
	return nil
}

// keepNothing disables storage, which Responses does by default.
func keepNothing(f *fields, s *seen) error {
	ownTier(f, s)
	f.set("store", "false")
	return nil
}

// ownTier asks OpenAI for the standard tier if the client sets none, because the project's
// default may be dearer than the price table.
func ownTier(f *fields, s *seen) {
	if tier := string(f.get("service_tier")); s.official && tier != `"default"` && tier != `"flex"` {
		f.set("service_tier", `"default"`)
	}
}

// String is the object as text.
func (f fields) String() string {
	var b strings.Builder
	for _, part := range f.parts() {
		b.Write(part)
	}
	return b.String()
}
