package house

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestAttacks: scripts/attack, a nightly job's, runs each test function that the threat
// model names and each fuzz target there is. (The script makes its list
// by grep, which silently misses what is written in another way.)
func TestAttacks(t *testing.T) {
	out, err := exec.Command("scripts/attack", "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		listed[strings.TrimSpace(line)] = true
	}
	want := map[string]bool{}
	must := func(name string) {
		want[name] = true
		if !listed[name] {
			t.Errorf("scripts/attack does not run %s", name)
		}
	}
	model, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	promises, _, _ := strings.Cut(string(model), "\n## What is not promised\n")
	for _, name := range backticked.FindAllStringSubmatch(promises, -1) {
		if _, test, ok := strings.Cut(name[1], " "); ok && strings.HasPrefix(test, "Test") && hasTest(t, name[1]) {
			must(name[1])
		}
	}
	target := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	for _, p := range packages(t) {
		for _, name := range append(p.TestGoFiles, p.XTestGoFiles...) {
			data, err := os.ReadFile(p.Dir + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range target.FindAllStringSubmatch(string(data), -1) {
				must(strings.TrimPrefix(p.ImportPath, "git-ward/") + " " + m[1])
			}
		}
	}
	if len(want) < 150 || len(listed) != len(want) {
		t.Errorf("%d attacks and fuzzers, and scripts/attack lists %d", len(want), len(listed))
	}
}
