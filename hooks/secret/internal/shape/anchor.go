package shape

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

const (
	maxAlternatives = 16 // literals of one anchor set
	maxThen         = 40 // bytes checked after a literal
	maxMembers      = 4  // bytes of a class that count as literals
	minAnchor       = 2  // bytes a literal must have to be worth looking for
)

// Anchor is a literal that a match may hold, and what must follow it there.
type Anchor struct {
	Text string // in lower case if Fold
	Fold bool   // any case matches
	Then []Set  // the bytes after Text, one by one

	AtStart bool // a match begins with Text: what stands before extends it
	open    bool // Then reaches the end of the expression: what follows extends it
}

// Anchors returns literals of which every match of re holds at least one, the
// longest such choice, or nil when re demands none.
func Anchors(re *syntax.Regexp) []Anchor {
	_, best := analyse(re)
	if shortest(best) < minAnchor {
		return nil
	}
	return mergeCases(best)
}

// better prefers the longer shortest literal, then the fewer literals.
func better(a, b []Anchor) []Anchor {
	if la, lb := shortest(a), shortest(b); lb > la || lb == la && la > 0 && len(b) < len(a) {
		return b
	}
	return a
}

// shortest is the length of the shortest text, 0 if there is none.
func shortest(as []Anchor) int {
	n := 0
	for i, a := range as {
		if i == 0 || len(a.Text) < n {
			n = len(a.Text)
		}
	}
	return n
}

// mergeCases lets texts that differ only by case become one that folds, and
// texts that fold be in lower case. What follows is then what may follow any.
func mergeCases(as []Anchor) []Anchor {
	var out []Anchor
	for _, a := range as {
		lower := strings.Map(unicode.ToLower, a.Text)
		i := slices.IndexFunc(out, func(o Anchor) bool { return strings.EqualFold(o.Text, a.Text) })
		switch {
		case i < 0:
			if a.Fold {
				a.Text = lower
			}
			out = append(out, a)
		default:
			o := &out[i]
			o.Fold = o.Fold || a.Fold || o.Text != a.Text
			if o.Fold {
				o.Text = lower
			}
			o.Then = unionHeads(o.Then, a.Then)
			o.AtStart = o.AtStart && a.AtStart
		}
	}
	return out
}

// AllAtStart reports whether every match begins with its anchor.
func AllAtStart(as []Anchor) bool {
	return !slices.ContainsFunc(as, func(a Anchor) bool { return !a.AtStart })
}
