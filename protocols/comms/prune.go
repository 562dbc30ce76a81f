package comms

import (
	"fmt"
	"slices"
	"strings"
)

// Range is report ids from First to Last, both included.
type Range struct{ First, Last int }

// Has reports whether id lies in the range.
func (r Range) Has(id int) bool { return r.First <= id && id <= r.Last }

// String is the range as the trailer has it: "R-1..R-40", or "R-3".
func (r Range) String() string {
	if r.First == r.Last {
		return name('R', r.First)
	}
	return name('R', r.First) + ".." + name('R', r.Last)
}

// PruneTrailer is the commit trailer that lists the reports that the agent pruned (COMMS-4).
const PruneTrailer = "Comms-Prune"

// maxRanges bounds what one commit message can ask for.
const maxRanges = 1000

// ParsePrune reads the ranges of all Comms-Prune trailers of a commit message:
// `Comms-Prune: R-1..R-40, R-45`. As with git, trailers stand in the last of at
// least two paragraphs, and the case of the key does not matter. No trailer is no
// range and no error; a trailer that cannot be read is an error.
func ParsePrune(message string) ([]Range, error) {
	var ranges []Range
	for l := range strings.SplitSeq(lastParagraph(message), "\n") {
		key, value, ok := strings.Cut(l, ":")
		if !ok || !strings.EqualFold(key, PruneTrailer) {
			continue
		}
		for s := range strings.SplitSeq(value, ",") {
			r, ok := parseRange(strings.TrimSpace(s))
			if !ok {
				return nil, fmt.Errorf("%s is not a range of reports; write %s: R-1..R-40", quote(strings.TrimSpace(s)), PruneTrailer)
			}
			if len(ranges) == maxRanges {
				return nil, fmt.Errorf("more than %d ranges in %s", maxRanges, PruneTrailer)
			}
			ranges = append(ranges, r)
		}
	}
	return ranges, nil
}

// lastParagraph returns the paragraph in which git looks for trailers, never the subject.
func lastParagraph(message string) string {
	last, paragraphs, blank := 0, 0, true
	for l := range lines(message, 0, len(message), 1) {
		if !l.blank() && blank {
			paragraphs++
			last = l.start
		}
		blank = l.blank()
	}
	if paragraphs < 2 {
		return ""
	}
	return message[last:]
}

func parseRange(s string) (Range, bool) {
	first, last, two := strings.Cut(s, "..")
	if !two {
		last = first
	}
	r := Range{parseName(first, 'R'), parseName(last, 'R')}
	return r, 0 < r.First && r.First <= r.Last
}

// PruneTrailers returns the trailers for removed reports.
func PruneTrailers(removed []Range) string {
	removed = slices.Clone(removed)
	slices.SortFunc(removed, func(a, b Range) int { return a.First - b.First })
	joined := removed[:0]
	for _, r := range removed {
		if n := len(joined); n > 0 && joined[n-1].Last >= r.First-1 {
			joined[n-1].Last = max(joined[n-1].Last, r.Last)
		} else {
			joined = append(joined, r)
		}
	}
	removed = joined
	var b strings.Builder
	for some := range slices.Chunk(removed, 10) {
		words := make([]string, len(some))
		for i, r := range some {
			words[i] = r.String()
		}
		b.WriteString(PruneTrailer + ": " + strings.Join(words, ", ") + "\n")
	}
	return b.String()
}

// kept says which reports may not be pruned, and why: the last one, because new ids count from
// it, and the newest EXIT or DONE report of every listed directive, because without it the
// directive would start again.
func kept(reports []Report, listed []Directive) map[int]string {
	isListed := make(map[string]bool, len(listed))
	for _, d := range listed {
		isListed[d.Name()] = true
	}
	newest := make(map[string]int)
	for _, r := range reports {
		if r.Status.final() && isListed[r.Directive] {
			newest[r.Directive] = r.ID
		}
	}
	keep := make(map[int]string, len(newest)+1)
	for directive, id := range newest {
		keep[id] = "it is the newest EXIT or DONE report of " + directive
	}
	if n := len(reports); n > 0 {
		keep[reports[n-1].ID] = "it is the last report"
	}
	return keep
}
