package deciding

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestPrograms: what a command line runs, and what it only looks at.
func TestPrograms(t *testing.T) {
	main := strings.Fields("check.sh run README.md sub/check.sh sub/data expected scripts/score.py ci.mk answer")
	onMain := func(p string) bool { return slices.Contains(main, p) }
	isProgram := func(p string) bool { return p == "run" }
	for line, want := range map[string]string{
		"sh check.sh":                                 "check.sh",
		"./check.sh answer":                           "check.sh",
		"check.sh":                                    "check.sh",
		"bash -eu ./check.sh README.md":               "check.sh",
		"grep -q limit README.md":                     "",
		"test $(wc -c < answer) -lt 9":                "",
		"test \"$(sh check.sh)\" = 42":                "check.sh",
		"cd sub && ./check.sh data":                   "check.sh sub/check.sh", // where it is, is not certain
		"(cd sub; sh 'check.sh')":                     "check.sh sub/check.sh", // where it is, is not certain
		"timeout 10s python3 scripts/score.py answer": "scripts/score.py",
		"env A=b nice -n 5 ./run":                     "run",
		"make -f ci.mk test":                          "ci.mk",
		"sh < check.sh":                               "check.sh",
		"cat answer | sh -x check.sh":                 "check.sh",
		"unknown-runner run answer":                   "run",
		"if sh check.sh; then echo README.md; fi":     "check.sh",
		"for f in sub/*; do . ./check.sh; done":       "check.sh",
		"diff expected answer":                        "",
		"bash -c 'sh check.sh'":                       "check.sh",
		"sh \"check.sh":                               "check.sh", // not shell: everything that it names
		"timeout -s KILL 10 sh check.sh":              "check.sh",
		"timeout 10 sh -c 'sh check.sh'":              "check.sh",
		"env -u HOME sudo -u nobody sh check.sh":      "check.sh",
		"timeout 5 grep -q limit README.md":           "",
		"! ./run && ! grep x README.md":               "run",
	} {
		got := strings.Join(slices.Sorted(maps.Keys(programs(line, isProgram, onMain))), " ")
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestReadingEnds: no text of main's, however it is woven, keeps the verdict waiting.
func TestReadingEnds(t *testing.T) {
	woven := strings.Repeat("X=\"$X$Y a\"\nY=\"$Y$X b\"\n", 300) + "sh $X; . \"$Y\"; eval \"$X\"\n"
	globs := strings.Repeat("for f in a*b*c?; do sh \"$f\"; done\n", 2000)
	for _, text := range []string{woven, globs, strings.Repeat("(", 5000), strings.Repeat("sh -c 'sh -c \"", 3000), "f() { f \"$@\"; }; f f f f\n"} {
		r := newReading(Tree{"a.sh": "100644 x"}, Tree{"a.sh": "100644 x"}, links{}, nil)
		r.criterion(text) // it takes milliseconds, or for ever
	}
}
