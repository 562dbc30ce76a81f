package deciding

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestTools: what a line wants of the system. "!" marks what it cannot do without.
func TestTools(t *testing.T) {
	for line, want := range map[string]string{
		"make check":                      "make!",
		"cd sub && make check":            "cd! make!",
		"make test | grep -q ok":          "grep! make!",
		`test "$(sed .n f.json)" = 3`:     "sed! test!",
		"mvn || make":                     "make mvn",
		"if mvn; then sed .; fi":          "mvn sed",
		"go vet ./... && golangci-lint":   "go! golangci-lint!",
		"make a; make b; exit; sed .":     "exit! make! sed",
		"set -e; make; sed":               "make! sed! set!",
		"[ -f x ] && sed p x; make":       "make! sed",
		"timeout 10s make check":          "make! timeout!",
		"env -u A X=1 nice -n 3 make":     "env! make! nice!",
		"command -v sed":                  "",
		"./build.sh && sub/x":             "",
		"/usr/bin/make x":                 "/usr/bin/make!",
		"python3 -m pytest -q":            "python3 -m pytest! python3!",
		"python3 -c 'import x'":           "python3!",
		"$CC x.c; \"$(grep go)\" test":    "grep!",
		"PATH=$PWD/bin:$PATH tool":        "",
		"export PATH=/x; tool":            "",
		"f() { sed .; }; f":               "",
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
