package shape

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Reach bounds the matches of re: a match has at most bound bytes, not counting
// bytes of run, of which it may have any number. For an expression without
// unbounded repetition run is empty.
func Reach(re *syntax.Regexp) (bound int, run Set) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(string(re.Rune)), run
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		_, bound = class(re)
		return bound, run
	case syntax.OpStar, syntax.OpPlus:
		return 0, Alphabet(re)
	case syntax.OpRepeat:
		if re.Max < 0 {
			return 0, Alphabet(re)
		}
		bound, run = Reach(re.Sub[0])
		return bound * re.Max, run
	}
	for _, sub := range re.Sub {
		b, r := Reach(sub)
		run.Union(r)
		if re.Op == syntax.OpAlternate {
			bound = max(bound, b)
		} else {
			bound += b
		}
	}
	return bound, run
}

// Alphabet returns the bytes that a match of re can be made of.
func Alphabet(re *syntax.Regexp) (s Set) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, b := range []byte(string(re.Rune)) {
			s.Union(literalByte(re, b))
		}
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s, _ = class(re)
	}
	for _, sub := range re.Sub {
		s.Union(Alphabet(sub))
	}
	return s
}

// MinLen returns the length in bytes of the shortest match of re.
func MinLen(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		return len(string(re.Rune))
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpStar, syntax.OpQuest:
		return 0
	case syntax.OpRepeat:
		return re.Min * MinLen(re.Sub[0])
	}
	for i, sub := range re.Sub {
		m := MinLen(sub)
		switch {
		case re.Op != syntax.OpAlternate:
			n += m
		case i == 0 || m < n:
			n = m
		}
	}
	return n
}

// Head returns the bytes with which every match of re begins, position by
// position, as far as they are the same for all.
func Head(re *syntax.Regexp) []Set {
	sets, _ := head(re)
	return sets[:min(len(sets), maxThen)]
}

// head returns the bytes with which every match of re begins, position by
// position, and whether that is all of the match.
func head(re *syntax.Regexp) (sets []Set, exact bool) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, b := range []byte(string(re.Rune)) {
			sets = append(sets, literalByte(re, b))
		}
		return sets, true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s, longest := class(re)
		return []Set{s}, longest == 1
	case syntax.OpStar, syntax.OpQuest:
		return nil, false
	case syntax.OpPlus:
		sets, _ = head(re.Sub[0])
		return sets, false
	case syntax.OpRepeat:
		sets, exact = headOfAll(slices.Repeat(re.Sub, min(re.Min, maxThen)))
		return sets, exact && re.Min == re.Max && re.Min <= maxThen
	case syntax.OpAlternate:
		sets, exact = head(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			more, e := head(sub)
			exact = exact && e && len(more) == len(sets)
			sets = unionHeads(sets, more)
		}
		return sets, exact
	}
	return headOfAll(re.Sub) // concatenation, capture, or empty
}

func headOfAll(subs []*syntax.Regexp) (sets []Set, exact bool) {
	for _, sub := range subs {
		if len(sets) >= maxThen {
			return sets, false
		}
		more, e := head(sub)
		sets = append(sets, more...)
		if !e {
			return sets, false
		}
	}
	return sets, true
}

// unionHeads joins two heads as far as both go.
func unionHeads(a, b []Set) (out []Set) {
	for i := range min(len(a), len(b)) {
		s := a[i]
		s.Union(b[i])
		out = append(out, s)
	}
	return out
}

// literalByte gives the bytes that a byte of a literal stands for.
func literalByte(re *syntax.Regexp, b byte) (s Set) {
	if re.Flags&syntax.FoldCase != 0 && b < utf8.RuneSelf {
		return folded(b)
	}
	s.Add(b)
	return s
}
