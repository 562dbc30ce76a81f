package secret

import (
	"bytes"
	"strings"
)

// maxLine is how much of a line on each side of a match an allowlist sees. A file of one long
// line could contain an excuse for everything.
const maxLine = 1 << 10

// excused reports whether an allowlist matches.
func (s *Scanner) excused(r *rule, data []byte, secret, match span) bool {
	for i := range globalAllow {
		if s.allows(&globalAllow[i], data, secret, match) {
			return true
		}
	}
	for i := range r.allow {
		if s.allows(&r.allow[i], data, secret, match) {
			return true
		}
	}
	return generic(r.id) == 1 && s.allows(&goSum, data, secret, match)
}

// allows reports whether an allowlist excuses a match.
func (s *Scanner) allows(a *allowlist, data []byte, secret, match span) bool {
	target := secret
	switch a.target {
	case "match":
		target = match
	case "line":
		target = lines(match, data)
	}
	if a.regex != "" {
		s.spend(target.to - target.from)
		if expression(a.regex).Match(target.of(data)) {
			return true
		}
	}
	return a.stopwords != "" && stopwords(a).found(secret.of(data))
}

// stopwords is the index of an allowlist's stopwords.
func stopwords(a *allowlist) *index {
	if x, ok := shared.stops.Load(a); ok {
		return x.(*index)
	}
	var words []word
	for w := range strings.FieldsSeq(a.stopwords) {
		words = append(words, word{w, true})
	}
	x := newIndex(words)
	shared.stops.Store(a, x)
	return x
}

// lines gives the lines that a match is on.
func lines(m span, data []byte) span {
	before, after := data[max(0, m.from-maxLine):m.from], data[m.to:min(len(data), m.to+maxLine)]
	if n := bytes.IndexByte(after, '\n'); n >= 0 {
		after = after[:n]
	}
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return span{m.from - len(before), m.to + len(after)}
}
