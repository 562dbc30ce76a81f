package shape

import (
	"regexp/syntax"
	"strings"
)

// Assignment is what most of gitleaks' rules look for: a name, an operator, a
// value, as in `name_token := "value"`.
type Assignment struct {
	Anchors []Anchor // the names
	Before  int      // bytes that a match can have before an anchor
	Gap     int      // bytes it can have between an anchor and the operator
	Value   Set      // the bytes of the value
	Min     int      // the value's least length
	Max     int      // the value's greatest length; 0: none
	Closed  bool     // no byte of Value can close the value
	Ends    []End    // how far a value without a greatest length goes, by alternative
}

// End bounds one alternative of a value: Bound bytes, and any number of Run's.
type End struct {
	Bound int
	Run   Set
}

// The parts of the template by which gitleaks writes such rules
// (cmd/generate/config/utils/generate.go: GenerateSemiGenericRegex).
const (
	namePrefix   = `(?i)[\w.-]{0,50}?(?:`
	nameSuffix   = `)(?:[ \t\w.-]{0,20})[\s'"]{0,3}`
	operator     = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`
	valuePrefix  = "[\\x60'\"\\s=]{0,5}("
	valueSuffix  = ")(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	exactPrefix  = `[\w.-]{0,50}?(?i:[\w.-]{0,50}?(?:` // for values that do not fold
	exactSuffix  = nameSuffix + `)`
	nameBytes    = `[ \t\w.\-\s'"]`     // what may stand between a name and its operator
	closingBytes = "[\\x60'\"\\s;\\\\]" // what may follow a value
	gapBytes     = 23                   // of nameSuffix
)

// ParseAssignment takes a rule's regex apart; ok is false for one of another
// make.
func ParseAssignment(regex string) (a Assignment, ok bool) {
	left, right, found := strings.Cut(regex, operator+valuePrefix)
	value, ok := strings.CutSuffix(right, valueSuffix)
	if !found || !ok {
		return a, false
	}
	fold, before := "(?i)", 50
	name, ok := cutBoth(left, namePrefix, nameSuffix)
	if !ok {
		fold, before = "", 100
		if name, ok = cutBoth(left, exactPrefix, exactSuffix); !ok {
			return a, false
		}
	}
	nameRE, err := syntax.Parse("(?i:"+name+")", syntax.Perl)
	if err != nil {
		return a, false
	}
	valueRE, err := syntax.Parse(fold+value, syntax.Perl)
	if err != nil {
		return a, false // the cut went through more than one alternative
	}
	whole, anchors := analyse(nameRE)
	switch {
	case whole != nil:
		anchors = asAnchors(whole, true)
	case !Alphabet(nameRE).Within(members(nameBytes)):
		return a, false // what stands between anchor and operator is anything
	}
	bound, _ := Reach(nameRE)
	a = Assignment{
		Anchors: mergeCases(anchors),
		Before:  before,
		Gap:     bound - shortest(anchors) + gapBytes,
		Value:   Alphabet(valueRE),
		Min:     MinLen(valueRE),
	}
	if bound, run := Reach(valueRE); run == (Set{}) {
		a.Max = bound
	} else {
		for _, alternative := range alternatives(valueRE) {
			bound, run := Reach(alternative)
			a.Ends = append(a.Ends, End{bound, run})
		}
	}
	a.Closed = !a.Value.Meets(members(closingBytes))
	return a, shortest(anchors) >= minAnchor && AllAtStart(anchors)
}

// alternatives are those that re consists of, re itself where it is no choice.
func alternatives(re *syntax.Regexp) []*syntax.Regexp {
	if re.Op == syntax.OpAlternate {
		return re.Sub
	}
	return []*syntax.Regexp{re}
}

func cutBoth(s, prefix, suffix string) (string, bool) {
	s, hasPrefix := strings.CutPrefix(s, prefix)
	s, hasSuffix := strings.CutSuffix(s, suffix)
	return s, hasPrefix && hasSuffix
}

// members gives the bytes of a character class.
func members(expr string) Set {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		panic(err) // a constant of this file
	}
	return Alphabet(re)
}
