package secret

import "unicode/utf8"

const (
	// maxReach bounds how far from its anchor a match is searched. Only matches without a
	// natural end get that far; the longest secrets in files, armoured key rings, have some
	// ten thousand bytes.
	maxReach = 64 << 10
	// context is how much more than the match a regex sees, so that it does not take a span's
	// edge for the edge of a word or the file.
	context = utf8.UTFMax
)

// span is a part of the data that a regex has to see.
type span struct{ from, to int }

// tracker turns one rule's hits into spans. Hits come in order of position, and each byte is
// visited a constant number of times however dense they are.
type tracker struct {
	state       state
	spans       []span       // of a rule in general
	assignments []assignment // of a rule for assignments

	valueFrom, valueTo int // the longest run of value bytes seen last
	hit, to, foreign   int // the last walk to the right: from, to, bytes not of run
}

// state says whether a rule takes part in the scan of a file.
type state int

const (
	idle   state = iota // no hit yet
	active              // hits count
	off                 // they do not: wrong path, or all is taken in already
)

func (t *tracker) reset() { *t = tracker{spans: t.spans[:0], assignments: t.assignments[:0]} }

// add takes in an anchor at data[at:end].
func (t *tracker) add(r *rule, data []byte, at, end int) {
	from, to := at, at+r.reach
	switch {
	case r.value != nil:
		t.assign(r.value, data, at, end)
		return
	case r.run != 0 && !r.atStart && at >= t.to:
		from = t.left(r, data, at)
	case r.run == 0 && !r.atStart:
		from = end - r.reach
	}
	if r.run != 0 {
		to = t.right(r, data, at)
	}
	t.join(max(0, from-context), min(len(data), to+context))
}

// addHeads takes in every place where a match may begin.
func (t *tracker) addHeads(r *rule, data []byte) {
	for at := range data {
		if follows(data[at:], r.head) {
			t.add(r, data, at, at)
		}
	}
}

// join adds a span, or lets the last one grow.
func (t *tracker) join(from, to int) {
	if n := len(t.spans); n > 0 && from <= t.spans[n-1].to {
		last := &t.spans[n-1]
		last.from, last.to = min(last.from, from), max(last.to, to)
		return
	}
	t.spans = append(t.spans, span{from, to})
}

// right walks from an anchor to where a match containing it must have ended: after r.reach
// bytes outside r.run. A hit within the last walk continues it.
func (t *tracker) right(r *rule, data []byte, at int) int {
	set := sets[r.run]
	if at < t.to {
		for _, b := range data[t.hit:at] {
			if !set.has(b) {
				t.foreign--
			}
		}
	} else {
		t.to, t.foreign = at, 0
	}
	t.hit = at
	for t.to < len(data) && t.to-at < maxReach {
		if !set.has(data[t.to]) {
			if t.foreign == r.reach {
				break
			}
			t.foreign++
		}
		t.to++
	}
	return t.to
}

// left does the same to the left, but not into the last walk, because spans are joined.
func (t *tracker) left(r *rule, data []byte, at int) int {
	set, foreign := sets[r.run], 0
	from := at
	for from > t.to && at-from < maxReach {
		if !set.has(data[from-1]) {
			if foreign == r.reach {
				break
			}
			foreign++
		}
		from--
	}
	return from
}
