package broken

import (
	"slices"
	"strings"

	"git-ward/internal/pattern"
)

// failing are the lines by which runners name a test that failed: of unittest and pytest, of
// cargo test, of node --test, of jest and vitest, and of bats. Those of go test come before
// the line that names their package.
var (
	failing = pattern.New(`^(?:(?:FAIL|ERROR): (test\w* \(\S+\)).*|(?:FAILED|ERROR) (\S+::\S+).*|test (\S.*) \.\.\. FAILED|[ \t]*not ok \d+ -? ?(\S.*?)(?: # .*)?|[ \t]*✖ (\S.*?)(?: \([\d.]+ms\))?|[ \t]*(?:●|FAIL {1,2}\S+ >) (\S.*))$`)
	goTest  = pattern.New(`^[ \t]*--- FAIL: (\S+)`)
	goFails = pattern.New(`^FAIL\t(\S+)`)
)

// Failed are the tests that an output names as failed, sorted. It is their runner's word, or
// that of whatever else printed it.
func Failed(output string) []string {
	var names, ofPackage []string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		if m := goTest.FindStringSubmatch(line); m != nil {
			ofPackage = append(ofPackage, m[1])
		} else if m := goFails.FindStringSubmatch(line); m != nil {
			for _, name := range ofPackage {
				names = append(names, m[1]+"."+name)
			}
			ofPackage = nil
		} else if m := failing.FindStringSubmatch(line); m != nil {
			names = append(names, strings.Join(m[1:], ""))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// bare is what a test is called without its package, its file or its class, which change where
// it moves.
var bare = pattern.New(`^(?:(test\w*) \(\S+\)|\S*?\.((?:Test|Benchmark|Fuzz|Example)\S*)|[^\[]*::([^:\[]+(?:\[.*)?))$`)

func bareName(name string) string {
	if m := bare.FindStringSubmatch(name); m != nil {
		return strings.Join(m[1:], "")
	}
	return name
}

// Lost are the tests, by name, that failed before and do not now. One that moved has another
// name around its own: as many as have the same bare name now are not lost.
func Lost(before, now []string) (lost []string) {
	moved := map[string]int{} // bare names that are new now
	for _, name := range now {
		if !slices.Contains(before, name) {
			moved[bareName(name)]++
		}
	}
	for _, name := range before {
		if slices.Contains(now, name) {
			continue
		}
		if own := bareName(name); moved[own] > 0 {
			moved[own]--
			continue
		}
		lost = append(lost, name)
	}
	return lost
}
