package secret

// The bytes of gitleaks' template for assignments,
//
//	[\w.-]{0,50}?(?:NAME)(?:[ \t\w.-]{0,20})[\s'"]{0,3}
//	(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(VALUE)(?:[\x60'"\s;]|\\[nr]|$)
const (
	isName     = 1 << iota // \w.-
	isBlank                // stands between name and operator as well: \s'"
	isOperator             // may begin an operator; is neither of the above
	isOpening              // may stand between that and the value
	isClosing              // may end the value
)

// maxOpening is the most bytes between an operator's first byte and the value: three of the
// operator, five of quotes and blanks.
const maxOpening = 8

func kind(b byte) int {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return isName
	}
	switch b {
	case '_', '.', '-':
		return isName
	case ' ', '\t', '\n', '\f', '\r', '\'', '"':
		return isBlank | isOpening | isClosing
	case '=', '>', ':', '|':
		return isOperator | isOpening
	case '?', ',':
		return isOperator
	case '`':
		return isOpening | isClosing
	case ';', '\\':
		return isClosing
	}
	return 0
}

// assignment is a possible match of the template: it begins at from or later, if that belongs
// to the previous match, but before the anchor's end, and it ends before to.
type assignment struct{ from, anchor, to int }

// assign takes an anchor at data[at:end] that may be the name in a match of the template. It
// checks the regex's conditions without the counts: in ordinary text few names are followed by
// an operator and a value as long as a secret.
func (t *tracker) assign(v *value, data []byte, at, end int) {
	op := skip(data, end, v.gap, isName|isBlank)
	if op == len(data) || kind(data[op])&isOperator == 0 {
		return
	}
	open := skip(data, op+1, maxOpening, isOpening)
	from, to := t.valueAround(v, data, open, op+1)
	if to-from < v.min {
		return
	}
	if v.closed {
		if v.max > 0 && to-open > v.max || to < len(data) && kind(data[to])&isClosing == 0 {
			return
		}
	}
	from = at
	for from > 0 && at-from < v.before && kind(data[from-1])&isName != 0 {
		from--
	}
	t.assignments = append(t.assignments, assignment{from, at, min(len(data), v.reach(data, open, to)+len(`\n`))})
}

// reach is the latest place where the regex stops reading a value that begins at open or
// before, that is before a run of value bytes ends at to and no alternative takes so many.
func (v *value) reach(data []byte, open, to int) int {
	if len(v.ends) == 0 {
		return to
	}
	furthest := open
	for _, end := range v.ends {
		i := open
		for left := end.bound; i < to; i++ {
			if !sets[end.run].has(data[i]) {
				if left--; left < 0 {
					break
				}
			}
		}
		furthest = max(furthest, i)
	}
	// One byte more, so that no match takes the cut for the end of the text.
	return min(to, furthest+1)
}

// skip passes over at most n bytes of the given kinds.
func skip(data []byte, from, n, kinds int) int {
	i := from
	for i < len(data) && i-from < n && kind(data[i])&kinds != 0 {
		i++
	}
	return i
}

// valueAround is the run of value bytes around a place. The value may begin before it, but not
// before least: quotes and '=' may be opening bytes and value bytes. Overlapping runs end
// together, so each is walked once.
func (t *tracker) valueAround(v *value, data []byte, at, least int) (from, to int) {
	set := sets[v.set]
	if at < t.valueFrom || at >= t.valueTo {
		t.valueFrom, t.valueTo = at, at
		for t.valueTo < len(data) && set.has(data[t.valueTo]) {
			t.valueTo++
		}
	}
	from, to = at, max(at, t.valueTo)
	for from > least && set.has(data[from-1]) {
		from--
	}
	return from, to
}
