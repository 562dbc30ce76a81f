package shape

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// literal is a string that an expression matches.
type literal struct {
	text string
	fold bool
}

// analyse returns the strings that re matches, if they are few, and its best
// anchors.
func analyse(re *syntax.Regexp) (exact []literal, best []Anchor) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine,
		syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		exact = []literal{{}}
	case syntax.OpLiteral:
		exact = []literal{{string(re.Rune), re.Flags&syntax.FoldCase != 0}}
	case syntax.OpCharClass:
		exact = classLiterals(re)
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpQuest:
		if sub, _ := analyse(re.Sub[0]); sub != nil {
			exact = append([]literal{{}}, sub...)
		}
	case syntax.OpPlus:
		_, best = analyse(re.Sub[0])
		return nil, closed(best)
	case syntax.OpRepeat:
		return analyseRepeat(re)
	case syntax.OpAlternate:
		return analyseAlternate(re.Sub)
	case syntax.OpConcat:
		return analyseConcat(re.Sub)
	}
	if len(exact) > maxAlternatives {
		exact = nil
	}
	return exact, asAnchors(exact, true)
}

// analyseRepeat sees x{n} as x n times, and takes from x{n,m} what one x holds.
func analyseRepeat(re *syntax.Regexp) ([]literal, []Anchor) {
	if re.Min == 0 {
		return nil, nil
	}
	if re.Min == re.Max {
		return analyseConcat(slices.Repeat(re.Sub, re.Min))
	}
	_, best := analyse(re.Sub[0])
	return nil, closed(best)
}

// analyseAlternate needs an anchor in each branch.
func analyseAlternate(subs []*syntax.Regexp) (exact []literal, best []Anchor) {
	finite, anchored := true, true
	for _, sub := range subs {
		e, b := analyse(sub)
		exact, finite = append(exact, e...), finite && e != nil
		best, anchored = append(best, b...), anchored && b != nil
	}
	if !finite || len(exact) > maxAlternatives {
		exact = nil
	}
	if !anchored || len(best) > maxAlternatives {
		best = nil
	}
	return exact, best
}

// analyseConcat multiplies out neighbours that match few strings, and keeps
// the best literals seen on the way.
func analyseConcat(subs []*syntax.Regexp) (exact []literal, best []Anchor) {
	nothing := []literal{{}}
	current, atStart := nothing, true
	for i, sub := range subs {
		e, b := analyse(sub)
		first := atStart && slices.Equal(current, nothing)
		best = better(best, extend(asAnchors(e, first), subs[i+1:]))
		if product := cross(current, e); product != nil {
			current = product
			continue
		}
		best = better(best, extend(asAnchors(current, atStart), subs[i:]))
		best = better(best, extend(prefixed(current, b, atStart), subs[i+1:]))
		current, atStart = nothing, false
		if e != nil {
			current = e
		}
	}
	best = better(best, asAnchors(current, atStart))
	if !atStart {
		current = nil
	}
	return current, best
}

// prefixed puts the strings that stand before an expression before those of
// its anchors that it begins with.
func prefixed(before []literal, as []Anchor, atStart bool) (out []Anchor) {
	if !AllAtStart(as) || len(before)*len(as) > maxAlternatives {
		as = slices.Clone(as)
		for i := range as {
			as[i].AtStart = false
		}
		return as
	}
	for _, l := range before {
		for _, a := range as {
			a.Text, a.Fold, a.AtStart = l.text+a.Text, l.fold || a.Fold, atStart
			out = append(out, a)
		}
	}
	return out
}

// extend lets anchors that reach the end of their expression see what follows.
func extend(as []Anchor, rest []*syntax.Regexp) []Anchor {
	then, exact := headOfAll(rest)
	as = slices.Clone(as)
	for i, a := range as {
		if a.open {
			as[i].Then = append(slices.Clip(a.Then), then...)
			as[i].open = exact
		}
		as[i].Then = as[i].Then[:min(len(as[i].Then), maxThen)]
	}
	return as
}

// closed says that what follows the expression does not follow its anchors.
func closed(as []Anchor) []Anchor {
	as = slices.Clone(as)
	for i := range as {
		as[i].open = false
	}
	return as
}

// asAnchors takes strings for anchors, unless one of them is empty.
func asAnchors(ls []literal, atStart bool) []Anchor {
	var as []Anchor
	for _, l := range ls {
		if l.text == "" {
			return nil
		}
		as = append(as, Anchor{Text: l.text, Fold: l.fold, AtStart: atStart, open: true})
	}
	return as
}

// cross joins each of as with each of bs, if both are known and not too many.
func cross(as, bs []literal) []literal {
	if len(bs) == 0 || len(as)*len(bs) > maxAlternatives {
		return nil
	}
	var out []literal
	for _, a := range as {
		for _, b := range bs {
			out = append(out, literal{a.text + b.text, a.fold || b.fold})
		}
	}
	return out
}

// classLiterals gives the members of a small ASCII class.
func classLiterals(re *syntax.Regexp) (ls []literal) {
	s, longest := class(re)
	if longest != 1 {
		return nil
	}
	for b := range byte(utf8.RuneSelf) {
		if s.Has(b) {
			ls = append(ls, literal{text: string(rune(b))})
		}
	}
	if len(ls) > maxMembers {
		return nil
	}
	return ls
}
