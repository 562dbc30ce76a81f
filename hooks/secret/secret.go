// Package secret finds credentials in the bytes of a push.
//
// The rules are those of gitleaks, taken over as data (rules.txt). Where
// gitleaks runs a rule's regex over all of a file that holds one of the rule's
// keywords, a Scanner first looks for literals that every match must hold, in
// one pass for all rules, and runs the regex only around them, as far as a match
// can reach (internal/shape). All that a regex sees is charged to a budget for
// the whole push, so no push costs more than that.
//
// The findings are those of gitleaks, except that nothing in the repository
// excuses a secret: not a gitleaks:allow comment, not a .gitleaks.toml, and no
// path, since whoever pushes chooses it; only the hashes of go.sum, which
// gitleaks knows by the file's name, are known by their form (goSum). Nor is a
// match of more than 64 KiB on either side of its literal seen, or a generic
// finding kept that a specific one covers.
//
// What a file is made of does not matter: binary data is searched like text. But
// nothing is decoded, so a secret in base64, UTF-16 or an archive is not seen.
// The check is for accidents; it does not keep in what somebody wants to get out.
//
// Nothing here runs before the first Scan.
package secret

// GITLEAKS is the source of gitleaks, as `go mod download -json` shows it.
//go:generate go run ./internal/gen -config $GITLEAKS/config/gitleaks.toml -version v8.30.1

import (
	"errors"
	"regexp"
	"sync"
)

// ErrBudget means that the budget is spent: the data was not fully searched.
var ErrBudget = errors.New("secret scan: the push needs more work than one push may cost")

// A Scanner searches the blobs of one push. It must not be used concurrently.
type Scanner struct {
	budget   int64
	*anchors           // nil before the first Scan
	trackers []tracker // by rule
}

// anchors are those of all rules.
type anchors struct {
	words    *index
	owners   []int   // by word: its rule
	followed [][]int // by word: what must follow it
}

// shared is derived from the rules once for all Scanners of a process, because judging a
// thousand past commits makes a Scanner for each.
var shared struct {
	once     sync.Once
	anchors  anchors
	compiled sync.Map // *regexp.Regexp by source
	stops    sync.Map // *index of stopwords by *allowlist
}

// rules, globalAllow and sets are the table, from the first Scan on.
var (
	rules       []rule
	globalAllow []allowlist
	sets        []byteSet
)

// New returns a Scanner that spends at most budget: one unit is one byte seen
// by the regex of one rule.
func New(budget int64) *Scanner { return &Scanner{budget: budget} }

// Scan returns the secrets in data, by position. With ErrBudget it returns those
// found so far. The path only matters to rules that are for certain files.
func (s *Scanner) Scan(path string, data []byte) ([]Finding, error) {
	s.prepare()
	s.locate(path, data)
	c := candidates{data: data}
	for i := range rules {
		if err := s.apply(&rules[i], &s.trackers[i], path, &c); err != nil {
			return c.findings(), err
		}
	}
	return c.findings(), nil
}

// prepare runs at the first Scan, so that a process without one does not pay for it.
func (s *Scanner) prepare() {
	if s.anchors == nil {
		shared.once.Do(shared.anchors.fill)
		s.anchors, s.trackers = &shared.anchors, make([]tracker, len(rules))
	}
}

// fill reads the table, and finds what it looks for.
func (a *anchors) fill() {
	rules, globalAllow, sets = load(table)
	var words []word
	for i := range rules {
		for _, x := range rules[i].anchors {
			words = append(words, word{x.text, x.fold})
			a.owners = append(a.owners, i)
			a.followed = append(a.followed, x.then)
		}
	}
	a.words = newIndex(words)
}

// locate finds for each rule the spans of data that its regex has to see.
func (s *Scanner) locate(path string, data []byte) {
	for i := range s.trackers {
		s.trackers[i].reset()
	}
	for at, w := range s.words.hits(data) {
		end := at + len(s.words.words[w].text)
		if !follows(data[end:], s.followed[w]) {
			continue
		}
		r, t := &rules[s.owners[w]], &s.trackers[s.owners[w]]
		if t.state == idle {
			t.state = active
			if r.path != "" && !expression(r.path).MatchString(path) {
				t.state = off
			}
		}
		switch {
		case t.state == off:
		case !r.apart:
			t.add(r, data, at, end)
		default:
			t.addHeads(r, data)
			t.state = off // that was all of them
		}
	}
}

// follows reports whether data begins with bytes of the sets in then.
func follows(data []byte, then []int) bool {
	for ; len(then) > 0; then = then[2:] {
		set, n := sets[then[0]], then[1]
		if len(data) < n {
			return false
		}
		for _, b := range data[:n] {
			if !set.has(b) {
				return false
			}
		}
		data = data[n:]
	}
	return true
}

// expression compiles an expression of the rule table when it is first needed. All
// of them compile: a test sees to it.
func expression(source string) *regexp.Regexp {
	if re, ok := shared.compiled.Load(source); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(source)
	shared.compiled.Store(source, re)
	return re
}
