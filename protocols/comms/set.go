package comms

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxSpans bounds a Set, and with it its text to some 80 KiB. Ids are handed out
// one after the other, so a real set is a handful of spans.
const maxSpans = 4096

// Set is a set of ids from 1 to MaxID: the directives that were ever listed. Its zero value is
// empty.
type Set struct {
	spans []span // ascending, neither touching nor overlapping
}

type span struct{ first, last int }

// ParseSet reads what String writes: "1-4,7", ascending; "" is the empty set. It ignores
// blanks around the text; anything else is an error.
func ParseSet(text string) (Set, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Set{}, nil
	}
	if strings.Count(text, ",") >= maxSpans {
		return Set{}, fmt.Errorf("a set of ids has more than %d spans", maxSpans)
	}
	var s Set
	last := -1
	for item := range strings.SplitSeq(text, ",") {
		a, b, two := strings.Cut(item, "-")
		if !two {
			b = a
		}
		sp := span{parseID(a), parseID(b)}
		if sp.first == 0 || sp.last < sp.first || two && sp.first == sp.last || sp.first <= last+1 {
			return Set{}, fmt.Errorf("%s is not in its place in a set of ids like 1-4,7", quote(item))
		}
		s.spans = append(s.spans, sp)
		last = sp.last
	}
	return s, nil
}

// String is the set as text: "1-4,7".
func (s Set) String() string {
	var b strings.Builder
	for i, sp := range s.spans {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(sp.first))
		if sp.last > sp.first {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(sp.last))
		}
	}
	return b.String()
}

// Has reports whether id is in the set.
func (s Set) Has(id int) bool {
	_, found := s.find(id)
	return found
}

// Max is the largest id in the set, 0 when it is empty.
func (s Set) Max() int {
	if len(s.spans) == 0 {
		return 0
	}
	return s.spans[len(s.spans)-1].last
}

// after is the first id above id, or above the span that holds id.
func (s Set) after(id int) int {
	if i, found := s.find(id); found {
		return s.spans[i].last + 1
	}
	return id + 1
}

// Add puts id into the set. It is an error when id is not from 1 to MaxID, or when
// the set would have too many gaps to be one of ids handed out in order.
func (s *Set) Add(id int) error {
	if id < 1 || id > MaxID {
		return fmt.Errorf("%d is not an id", id)
	}
	i, found := s.find(id)
	if found {
		return nil
	}
	// A copy: sets are passed by value, and one must not change under another.
	spans := slices.Clone(s.spans)
	below := i > 0 && spans[i-1].last == id-1
	above := i < len(spans) && spans[i].first == id+1
	switch {
	case below && above:
		spans[i-1].last = spans[i].last
		spans = slices.Delete(spans, i, i+1)
	case below:
		spans[i-1].last = id
	case above:
		spans[i].first = id
	case len(spans) == maxSpans:
		return fmt.Errorf("a set of ids has more than %d spans", maxSpans)
	default:
		spans = slices.Insert(spans, i, span{id, id})
	}
	s.spans = spans
	return nil
}

// find returns the index of the span with id, or of the first span above it.
func (s Set) find(id int) (int, bool) {
	return slices.BinarySearchFunc(s.spans, id, func(sp span, id int) int {
		switch {
		case sp.last < id:
			return -1
		case sp.first > id:
			return 1
		}
		return 0
	})
}
