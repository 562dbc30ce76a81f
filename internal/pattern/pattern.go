// Package pattern compiles regular expressions on first use, so that no program pays at its
// start for expressions that it never uses.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled once, at its first use. It is safe for
// concurrent use.
type Pattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// New is the pattern of a text in the syntax of regexp. One that does not compile panics at
// its first use; a test of internal/house compiles all.
func New(text string) *Pattern { return &Pattern{text: text} }

// Regexp is the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	return p.compiled
}

// MatchString reports whether a text contains a match.
func (p *Pattern) MatchString(s string) bool { return p.Regexp().MatchString(s) }

// FindStringSubmatch is the first match with its groups, nil for none.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.Regexp().FindStringSubmatch(s) }

// ReplaceAllString replaces each match, by the template of regexp.Expand.
func (p *Pattern) ReplaceAllString(s, with string) string {
	return p.Regexp().ReplaceAllString(s, with)
}

// ReplaceAllStringFunc replaces each match with the function's result.
func (p *Pattern) ReplaceAllStringFunc(s string, with func(string) string) string {
	return p.Regexp().ReplaceAllStringFunc(s, with)
}

// FindAllString returns the first n matches, all for -1.
func (p *Pattern) FindAllString(s string, n int) []string { return p.Regexp().FindAllString(s, n) }

// FindAllStringSubmatch returns the first n matches with their groups, all for -1.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.Regexp().FindAllStringSubmatch(s, n)
}
