package secret

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"
)

// maxLine is how much of a line on each side of a match an allowlist sees.
// Files of one line are long enough to hold an excuse for everything.
const maxLine = 1 << 10

// apply runs a rule where its tracker says. A rule without a regex only looks at
// the path: the whole file is the secret.
func (s *Scanner) apply(r *rule, t *tracker, path string, c *candidates) error {
	if r.regex == "" {
		if len(c.data) > 0 && s.regexp(r.path).MatchString(path) {
			c.add(r, span{0, len(c.data)})
		}
		return nil
	}
	if r.value != nil {
		return s.applyAssignments(r, t.assignments, c)
	}
	for _, sp := range t.spans {
		if !s.spend(sp.to - sp.from) {
			return ErrBudget
		}
		for _, m := range s.regexp(r.regex).FindAllIndex(sp.of(c.data), -1) {
			match := trim(span{sp.from + m[0], sp.from + m[1]}, c.data)
			s.spend(match.to - match.from)
			// As in gitleaks the groups are those of the match alone.
			groups := s.regexp(r.regex).FindSubmatchIndex(match.of(c.data))
			if s.judge(r, match, groups, c); s.budget < 0 {
				return ErrBudget
			}
		}
	}
	return nil
}

// applyAssignments tries the regex only where a match can begin. Without that
// limit it takes microseconds a byte, for it would begin anew in each byte of
// the value.
func (s *Scanner) applyAssignments(r *rule, as []assignment, c *candidates) error {
	done := 0 // where the last match ended
	for _, a := range as {
		from := max(a.from, done)
		if from > a.anchor {
			continue
		}
		if !s.spend(a.to - from) {
			return ErrBudget
		}
		groups := s.regexp("^(?:" + r.regex + ")").FindSubmatchIndex(c.data[from:a.to])
		if groups == nil {
			continue
		}
		done = from + groups[1]
		if s.judge(r, trim(span{from, done}, c.data), groups, c); s.budget < 0 {
			return ErrBudget
		}
	}
	return nil
}

// judge adds the secret in a match to the candidates, unless it is excused.
func (s *Scanner) judge(r *rule, match span, groups []int, c *candidates) {
	secret := match
	if g, ok := group(groups, r.group); ok {
		secret = span{match.from + g.from, match.from + g.to}
	}
	if r.entropy != 0 && entropy(secret.of(c.data)) <= r.entropy {
		return
	}
	for _, list := range [][]allowlist{globalAllow, r.allow} {
		for i := range list {
			if s.allows(&list[i], c.data, secret, match) {
				return
			}
		}
	}
	c.add(r, secret)
}

// spend takes n from the budget and reports whether that much was left.
func (s *Scanner) spend(n int) bool {
	s.budget -= int64(n)
	return s.budget >= 0
}

func (sp span) of(data []byte) []byte { return data[sp.from:sp.to] }

// trim takes line ends off both ends of a match.
func trim(m span, data []byte) span {
	for m.from < m.to && data[m.to-1] == '\n' {
		m.to--
	}
	for m.from < m.to && data[m.from] == '\n' {
		m.from++
	}
	return m
}

// group picks the n-th group, or for 0 the first that is not empty.
func group(groups []int, n int) (span, bool) {
	for i := 1; i < len(groups)/2; i++ {
		if g := (span{groups[2*i], groups[2*i+1]}); g.to > g.from && (n == 0 || n == i) {
			return g, true
		}
	}
	return span{}, false
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
		if s.regexp(a.regex).Match(target.of(data)) {
			return true
		}
	}
	return a.stopwords != "" && s.stopwords(a).found(secret.of(data))
}

// stopwords is the index of an allowlist's stopwords.
func (s *Scanner) stopwords(a *allowlist) *index {
	x := s.stops[a]
	if x == nil {
		var words []word
		for w := range strings.SplitSeq(a.stopwords, "\n") {
			words = append(words, word{w, true})
		}
		x = newIndex(words)
		s.stops[a] = x
	}
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

// entropy is Shannon's, in bits a character, as gitleaks computes it: it counts
// runes but divides by bytes.
func entropy(b []byte) (bits float64) {
	var ascii [utf8.RuneSelf]int
	var others map[rune]int
	for _, r := range string(b) {
		if r < utf8.RuneSelf {
			ascii[r]++
			continue
		}
		if others == nil {
			others = map[rune]int{}
		}
		others[r]++
	}
	add := func(count int) {
		if count > 0 {
			f := float64(count) / float64(len(b))
			bits -= f * math.Log2(f)
		}
	}
	for _, count := range ascii {
		add(count)
	}
	for _, count := range others {
		add(count)
	}
	return bits
}
