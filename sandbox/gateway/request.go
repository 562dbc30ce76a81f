package gateway

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// call is a request that may go out.
type call struct {
	model  string
	stream bool
	parts  [][]byte // what goes out, in pieces of what came
	left   []string // the names of members that do not
	seen   seen
	input  int64 // tokens that it may take in, at most
	likely int64 // and is thought to take in
	output int64 // tokens that it may give, which the provider is told too
}

// endpoint is one inference path that takes a body.
type endpoint struct {
	fields map[string]check
	answer answer // reads an answer
	// limits are the members that bound the output; the last one is added to a
	// request that has none, so that the reservation is true.
	limits []string
	adjust func(f *fields, s *seen) error
	free   bool // not billed
}

// read checks a body, by the rules that s brings, and works out what its call can cost.
func (e *endpoint) read(body []byte, l Limits, s seen) (*call, error) {
	if err := wellFormed(body, l); err != nil {
		return nil, err
	}
	f, err := decodeFields(body)
	if err != nil {
		return nil, err
	}
	c := &call{seen: s}
	c.seen.tool = e.fields["tools"]
	if f.get("model") == nil {
		return nil, errors.New("model: missing")
	}
	// What the table does not have changes how the provider works, and nobody has looked at
	// it. The call does without, so that a new release of a program works.
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
	c.parts = f.parts() // written anew: the provider reads what was read here
	c.input, c.likely = c.seen.input(spelledOut(body), c.model)
	if c.output += c.seen.output; c.seen.thinking >= c.output {
		c.output += c.seen.thinking
	}
	return c, err
}

// maxAsked is the most output tokens that a call may ask for, far above what any
// model gives; it keeps sums of reservations within 64 bits.
const maxAsked = 10_000_000

// limit finds the bound on the output: the largest that is set. Where none is,
// maxOutput is added to the request.
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

// tellUsage makes a streamed chat completion end with its usage, which the
// provider leaves out unless asked. The client sees that last chunk too.
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

// keepNothing switches off the storing that Responses does unless told not to.
func keepNothing(f *fields, s *seen) error {
	ownTier(f, s)
	f.set("store", "false")
	return nil
}

// ownTier asks OpenAI for the ordinary processing where a client leaves that to the
// project's settings, which may say a dearer one than the price table does.
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
