package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/pattern"
)

// seen is what affects a request's price besides its text, and the rules for checking it.
type seen struct {
	models   []string // callable models; a trailing * marks a prefix
	tool     check    // what a list of tools may contain
	part     check    // what a part with a type may be, within something that no table has
	official bool     // the provider's own server, whose prices and rules are known

	media     int64 // bytes of pictures and documents in the text, which count differently
	pictures  int64
	documents int64
	tools     int64 // the provider's own tools, each with a hidden prompt
	output    int64 // tokens billed beyond the output limit
	thinking  int64 // tokens with a limit of their own
	cached    bool  // the input may be written to the cache
	long      bool  // for an hour
}

const (
	// hidden is how many tokens providers add to a request: the tool prompt and the marks
	// between messages; toolPrompt those for each provider tool.
	hidden     = 1024
	toolPrompt = 1024
	// picture is the most tokens that a picture counts for: 2,576 pixels a side at Anthropic
	// (4,784 tokens), 10,000 patches at OpenAI plus a model's surcharge; dearPicture is for
	// OpenAI's small model that counts eight tiles at 5,667 and a base of 2,833.
	picture     = 12_500
	dearPicture = 48_200
	// window is the largest context of any model on sale. A document of a few hundred bytes
	// may have any number of pages, so nothing less bounds it; likelyDocument is the expected
	// size.
	window         = 1_100_000
	likelyDocument = 100_000
)

// input is the upper bound and the expected number of input tokens for so many bytes of text
// and media: byte tokenizers make at most one token per byte, and at most half of that for
// natural text.
func (s *seen) input(bytes int64, model string) (most, likely int64) {
	each := int64(picture)
	if strings.Contains(model, "4o-mini") {
		each = dearPicture
	}
	text := max(bytes-s.media, 0)
	besides := hidden + s.pictures*each + s.tools*toolPrompt
	most, likely = text+besides, text/2+besides
	if s.documents > 0 {
		most, likely = most+window, likely+s.documents*likelyDocument
	}
	return most, likely
}

// dear is the price to reserve for input: the cache write price if all of it may be written
// there.
func (s *seen) dear(p Price) Price {
	switch {
	case !s.official || s.long:
		p.Input = max(p.Input, p.CacheWrite, p.CacheWriteLong)
	case s.cached:
		p.Input = max(p.Input, p.CacheWrite)
	}
	return p
}

// pictured accepts a picture's base64, documented a document's.
func pictured(v jsontext.Value, s *seen) error {
	s.pictures++
	return media(v, s)
}

func documented(v jsontext.Value, s *seen) error {
	s.documents++
	return media(v, s)
}

// media is a source whose bytes are in the request.
var media = open(map[string]check{"media_type": nil, "data": inline})

// inline accepts content that is a string, and null. An object may lead elsewhere.
func inline(v jsontext.Value, s *seen) error {
	switch v.Kind() {
	case 'n':
	case '"':
		s.media += int64(len(v))
	default:
		return errors.New("not a string")
	}
	return nil
}

// dataURL accepts data: URLs and null: the provider would fetch any other. Some servers read
// what is not a picture as a document.
func dataURL(v jsontext.Value, s *seen) error {
	if v.Kind() == 'n' {
		return nil
	}
	if !strings.HasPrefix(string(v[:min(len(v), 6)]), `"data:`) {
		return errors.New("the gateway admits data: URLs only, because the provider would fetch any other")
	}
	if strings.HasPrefix(string(v[:min(len(v), 12)]), `"data:image/`) {
		s.pictures++
	} else {
		s.documents++
	}
	s.media += int64(len(v))
	return nil
}

// fileData accepts a file's content, perhaps a document: base64 or a data: URL.
func fileData(v jsontext.Value, s *seen) error {
	if v.Kind() == '"' && !strings.HasPrefix(string(v[:min(len(v), 6)]), `"data:`) && !base64Only(v) {
		return errors.New("the gateway admits base64 and data: URLs only, because the provider would fetch from any other address")
	}
	if v.Kind() != 'n' {
		s.documents++
	}
	return inline(v, s)
}

// ownTool counts a provider tool with its prompt.
func ownTool(c check) check {
	return func(v jsontext.Value, s *seen) error {
		s.tools++
		return c(v, s)
	}
}

// predicted accepts a prediction. Each predicted token that the answer does not use is billed
// as output.
func predicted(v jsontext.Value, s *seen) error {
	s.output += int64(len(v))
	return nil
}

// thoughts may exceed the output limit between tool uses.
func thoughts(v jsontext.Value, s *seen) error {
	if v.Kind() != '{' {
		return nil
	}
	f, err := decodeFields(v)
	if err != nil {
		return err
	}
	var budget *int64
	if err := f.into("budget_tokens", &budget); err != nil {
		return err
	}
	if budget != nil && (*budget < 0 || *budget > maxAsked) {
		return fmt.Errorf("budget_tokens: %d is not a number of tokens", *budget)
	}
	if budget != nil {
		s.thinking = *budget
	}
	return nil
}

// cacheControl accepts a cache mark. One hour costs more, and what other servers than the
// provider's charge for it is unknown.
func cacheControl(v jsontext.Value, s *seen) error {
	if v.Kind() != '{' {
		return nil
	}
	f, err := decodeFields(v)
	if err != nil {
		return err
	}
	s.cached = true
	switch ttl := string(f.get("ttl")); {
	case ttl == "" || ttl == "null" || ttl == `"5m"`:
		return nil
	case ttl == `"1h"` && s.official:
		s.long = true
		return nil
	}
	return fmt.Errorf("ttl: the gateway admits %q, and %q where the server is the provider's own", "5m", "1h")
}

// retention accepts how long OpenAI caches a prompt's beginning.
func retention(v jsontext.Value, s *seen) error {
	if slices.Contains([]string{"null", `"in_memory"`, `"in-memory"`}, string(v)) || s.official && string(v) == `"24h"` {
		return nil
	}
	return fmt.Errorf("the gateway admits %q, and %q where the server is the provider's own", "in_memory", "24h")
}

// modelName is a valid model name, safe to log and to look up in the price table.
var modelName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$`)

// routed are name suffixes by which routing servers search the web or choose a provider, at
// another price.
var routed = []string{":online", ":nitro", ":floor", ":exacto"}

// unlisted is a model that the host's settings do not name.
type unlisted struct{ name string }

func (e *unlisted) Error() string {
	return fmt.Sprintf("%q is not a model of this launch: [model] id and [model] also name those that may be called", e.name)
}

// model accepts the settings' models, but none with "search" in its name
// (gpt-4o-search-preview, o3-deep-research), because these search the web without any tool in
// the request.
func model(v jsontext.Value, s *seen) error {
	name, err := shortText(v)
	if err != nil || !modelName.MatchString(name) {
		return errors.New("not a model's name")
	}
	small := strings.ToLower(name)
	if strings.Contains(small, "search") {
		return fmt.Errorf("%q searches the web at the provider, which is a way around the fence", name)
	}
	if slices.ContainsFunc(routed, func(end string) bool { return strings.Contains(small, end) }) {
		return fmt.Errorf("%q has an end by which a server searches, or chooses at another price", name)
	}
	if !slices.ContainsFunc(s.models, func(may string) bool {
		family, open := strings.CutSuffix(may, "*")
		return may == name || open && strings.HasPrefix(name, family)
	}) {
		return &unlisted{name}
	}
	return nil
}
