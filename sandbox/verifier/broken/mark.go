package broken

import (
	"iter"
	"strconv"
	"strings"
)

// What a test says that it came to: to its end, or to a failure before.
const (
	ended = "end"
	fails = "fail"
)

// tail is what a test says behind the word.
func (m mark) tail(what string) string { return ":" + strconv.Itoa(m.id) + ":" + what }

// File is where tests say by a word what they came to, beside their output, which a pipe may
// swallow: in $TMPDIR, or in /tmp where that is not set.
func File(word string) string { return "." + word }

// Said are the numbers of the tests that an output has: of those that came to their end, and
// of all that ran, which includes those that failed before. A test that was skipped, or that
// something else ended, is in neither. One with rows of parameters may be in Failed as well.
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

// Failed are the numbers of the tests that failed before their end, once at least.
func Failed(word, output string) map[int]bool {
	failed := map[int]bool{}
	for id, what := range marks(word, output) {
		if strings.HasPrefix(what, fails) {
			failed[id] = true
		}
	}
	return failed
}

// marks are the numbers of tests that an output has behind a word, each with what follows it.
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

// What a test says that it found: something that is not what it was, and a function that was ended.
const (
	isReplaced = "replaced"
	isEnded    = "ended"
)

// finds is what a test says behind the word, and before the name of what it found.
func (m mark) finds(kind string) string { return ":" + kind + ":" + strconv.Itoa(m.id) + ":" }
