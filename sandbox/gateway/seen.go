package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/pattern"
)

// seen is what a request holds that its text does not tell the price of, and by which rules
// it is looked at.
type seen struct {
	models   []string // that may be called, an entry with * at its end by its beginning
	tool     check    // what a list of tools may hold
	official bool     // the server is the provider's own, whose prices and rules are known

	media     int64 // bytes of the text that are pictures and documents, which count otherwise
	pictures  int64
	documents int64
	tools     int64 // of the provider's own making, each with a prompt of its own
	output    int64 // tokens that are billed beyond the bound on the output
	thinking  int64 // tokens of a bound of its own
	cached    bool  // the input may be written to the cache
	long      bool  // for an hour
}

const (
	// hidden are tokens that providers add to a request: the prompt that tells of tools, the
	// marks between messages; and toolPrompt those for one tool of their own.
	hidden     = 1024
	toolPrompt = 1024
	// picture is the most tokens that a picture counts for: 2,576 pixels a side at Anthropic
	// (4,784 tokens), 10,000 patches at OpenAI with what a model's table adds; dearPicture is
	// for the small model there that counts eight tiles and a base at 5,667 and 2,833.
	picture     = 12_500
	dearPicture = 48_200
	// window is the most that a model takes in, of any on sale. A document of a few hundred
	// bytes may have as many pages as fit in, so nothing less bounds it; likelyDocument is
	// what one is thought to have.
	window         = 1_100_000
	likelyDocument = 100_000
)

// input is how many tokens a request of so many bytes of text and media takes in at most, and how many it is
// thought to take in: tokenizers that work on bytes make no more tokens than there are, and
// of no natural text half as many.
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

// dear is the price at which a request's input is reserved: where all of it may turn out to
// be written to the cache, that of writing.
func (s *seen) dear(p Price) Price {
	switch {
	case !s.official || s.long:
		p.Input = max(p.Input, p.CacheWrite, p.CacheWriteLong)
	case s.cached:
		p.Input = max(p.Input, p.CacheWrite)
	}
	return p
}

// pictured admits base64 of a picture, documented that of a document.
func pictured(v jsontext.Value, s *seen) error {
	s.pictures++
	return media(v, s)
}

func documented(v jsontext.Value, s *seen) error {
	s.documents++
	return media(v, s)
}

// media is a source whose bytes are in the request.
var media = open(map[string]check{"media_type": nil, "data": func(v jsontext.Value, s *seen) error {
	if v.Kind() == '"' { // anything else may be read as text
		s.media += int64(len(v))
	}
	return nil
}})

// dataURL admits data: URLs, and null: the provider would fetch from any other. Some servers
// read what is not a picture as a document.
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

// fileData admits the content of a file, which may be a document: base64, or a data: URL.
func fileData(v jsontext.Value, s *seen) error {
	if v.Kind() == '"' && !strings.HasPrefix(string(v[:min(len(v), 6)]), `"data:`) && !base64Only(v) {
		return errors.New("the gateway admits base64 and data: URLs only, because the provider would fetch from any other address")
	}
	if v.Kind() != 'n' {
		s.documents++
	}
	if v.Kind() == '"' {
		s.media += int64(len(v))
	}
	return nil
}

// ownTool counts a tool with a prompt of the provider's.
func ownTool(c check) check {
	return func(v jsontext.Value, s *seen) error {
		s.tools++
		return c(v, s)
	}
}

// predicted admits a prediction, of which each token that the answer does not take is billed
// like one of the answer.
func predicted(v jsontext.Value, s *seen) error {
	s.output += int64(len(v))
	return nil
}

// thoughts may go beyond the bound on the output, where it is between the uses of tools.
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

// cacheControl admits a mark up to which the input is kept. For an hour it is dearer, and
// what other servers than the provider's own make of that nobody has priced.
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

// retention admits how long OpenAI keeps what a prompt begins with.
func retention(v jsontext.Value, s *seen) error {
	if slices.Contains([]string{"null", `"in_memory"`, `"in-memory"`}, string(v)) || s.official && string(v) == `"24h"` {
		return nil
	}
	return fmt.Errorf("the gateway admits %q, and %q where the server is the provider's own", "in_memory", "24h")
}

// modelName is what a model may be called: also what ends in a log line and is
// looked up in the price table.
var modelName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,127}$`)

// routed are ends of names by which servers that pass calls on search the web, or choose
// who is asked, at another price.
var routed = []string{":online", ":nitro", ":floor", ":exacto"}

// unlisted is a model that the host's settings do not name.
type unlisted struct{ name string }

func (e *unlisted) Error() string {
	return fmt.Sprintf("%q is not a model of this launch: [model] id and [model] also name those that may be called", e.name)
}

// model admits the models of the settings. Those with "search" in them
// (gpt-4o-search-preview, o3-deep-research) search the web without any tool in the request,
// whoever named them.
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
