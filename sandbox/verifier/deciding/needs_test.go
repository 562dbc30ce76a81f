package deciding

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestTools: what a line wants of the system. "!" marks what runs whenever the line does.
func TestTools(t *testing.T) {
	for line, want := range map[string]string{
		"make check":                      "make!",
		"cd sub && make check":            "cd! make!",
		"make test | grep -q ok":          "grep! make!",
		`test "$(jq .n f.json)" = 3`:      "jq! test!",
		"gmake || make":                   "gmake make",
		"if gmake; then jq .; fi":         "gmake jq",
		"go vet ./... && golangci-lint":   "go! golangci-lint",
		"make a; make b; exit; jq .":      "exit! jq make!",
		"set -e; make; jq":                "jq make set!",
		"timeout 10s make check":          "make! timeout!",
		"env -u A X=1 nice -n 3 make":     "env! make! nice!",
		"command -v jq":                   "",
		"./build.sh && sub/x":             "",
		"/usr/bin/make x":                 "/usr/bin/make!",
		"python3 -m pytest -q":            "python3 -m pytest! python3!",
		"python3 -c 'import x'":           "python3!",
		"$CC x.c; \"$(which go)\" test":   "which!",
		"PATH=$PWD/bin:$PATH tool":        "",
		"export PATH=/x; tool":            "",
		"f() { jq .; }; f":                "",
		"sh -c 'make check'":              "sh!",
		"for f in a b; do shfmt $f; done": "shfmt",
		"not ( shell":                     "",
		"'a b' ; \"it's\"; x\\'y":         "",
	} {
		var have []string
		for tool, always := range Tools(line) {
			if always {
				tool += "!"
			}
			have = append(have, tool)
		}
		slices.Sort(have)
		if got := strings.Join(have, " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// FuzzNamesArePlain: whatever a line has, nothing of a name is the shell's.
func FuzzNamesArePlain(f *testing.F) {
	f.Add("make 'a;b' $(x) /usr/bin/it's")
	f.Fuzz(func(t *testing.T, line string) {
		for tool := range maps.Keys(Tools(line)) {
			if strings.ContainsAny(tool, "'\"\n;|&$`\\<>(){}*?[]~!") {
				t.Errorf("%q of %q", tool, line)
			}
		}
	})
}
