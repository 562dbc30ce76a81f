package broken

import (
	"iter"
	"strconv"
	"strings"
)

// How far a test reports that it came: to its end, or to a failure before it.
const (
	ended = "end"
	fails = "fail"
)

// tail follows the word in what a test reports.
func (m mark) tail(what string) string { return ":" + strconv.Itoa(m.id) + ":" + what }

// File is where tests report besides their output, which a pipe may swallow: in $TMPDIR, or in /tmp
// where that is not set.
func File(word string) string { return "." + word }

// Said reads the tests' numbers from an output: those that came to their end, and all that ran, which
// includes those that failed before. A test that was skipped, or that something else ended, is in
// neither. One with rows of parameters may be in Failed as well.
func Said(word, output string) (ends, ran map[int]bool) {
	ends, ran = map[int]bool{}, map[int]bool{}
	for id, what := range marks(word, output) {
		if strings.HasPrefix(what, ended) {
			ends[id], ran[id] = true, true
		} else if strings.HasPrefix(what, fails) {
			ran[id] = true
		}
	}
	return ends, ran
}

// Failed reads the numbers of the tests that failed before their end at least once.
func Failed(word, output string) map[int]bool {
	failed := map[int]bool{}
	for id, what := range marks(word, output) {
		if strings.HasPrefix(what, fails) {
			failed[id] = true
		}
	}
	return failed
}

// marks yields each number that follows the word in an output, with the rest of its report.
func marks(word, output string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for more := true; more; {
			if _, output, more = strings.Cut(output, word+":"); !more {
				return
			}
			number, what, _ := strings.Cut(output, ":")
			if id, err := strconv.Atoi(number); err == nil && !yield(id, what) {
				return
			}
		}
	}
}

// What a test reports that it found: something was replaced, or a function did not return.
const (
	isReplaced = "replaced"
	isEnded    = "ended"
)

// finds stands between the word and the name of what a test found.
func (m mark) finds(kind string) string { return ":" + kind + ":" + strconv.Itoa(m.id) + ":" }
