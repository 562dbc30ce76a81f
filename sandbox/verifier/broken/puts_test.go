package broken

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestPuts: what a text puts in another's place is read from it, and what it only has is not.
func TestPuts(t *testing.T) {
	words := map[string]bool{"CALC": true, "assert": true, "diff": true, "grep": true, "later": true}
	for name, c := range map[string]struct {
		text            string
		puts, mentioned []string
	}{
		"a.go":        {"package a\n\nimport (\n\t\"io\"\n\tweb \"net/http\"\n)\n\nfunc F() (e error) {\n\tio.EOF, e = nil, io.ErrClosedPipe\n\tp := &web.DefaultClient.Timeout\n\t*p++\n\treturn\n}\n", []string{"io.EOF", "net/http.DefaultClient"}, []string{"io.EOF", "io.ErrClosedPipe", "net/http.DefaultClient"}},
		"other.go":    {"package a\n\nimport (\n\t\"example.org/b/v2\"\n\t. \"io\"\n)\n\nfunc F() {\n\tb.One.(*T).Two, EOF = nil, nil\n\tvar b T\n\tb.Three = c.Four\n}\n", []string{"example.org/b/v2.One", "io.EOF"}, []string{"example.org/b/v2.Four", "example.org/b/v2.One", "io.EOF", "io.T"}},
		"bad.go":      {"package", nil, nil},
		"calc.h":      {"#ifndef CALC\n# define CALC\n#define assert(x) \\\n\t0\nint two(int);\nstatic inline int three(void) { return four(3); }\n#endif\n", []string{"CALC", "assert", "three"}, nil},
		"calc.c":      {"static int one(void)\n{\n\treturn 1;\n}\n\nconst char *\nname(int n)\n{\n\tif (n) {\n\t\treturn 0;\n\t}\n\treturn one() ? \"two()\" : 0; // three()\n}\n", []string{"name"}, []string{"if", "name", "one"}},
		"lib.sh":      {"assert_eq() { test \"$1\" = \"$2\"; }\nfunction more { alias diff=: 'grep=x'; later() { more; }; }\nmore\n", []string{"assert_eq", "diff", "grep", "later", "more"}, []string{"alias", "more", "test"}},
		"text.md":     {"#define x 1\n", nil, nil},
		"unclosed.sh": {"a() {\n", nil, nil},
	} {
		var puts []string
		for _, one := range Read(name, c.text).Puts {
			puts = append(puts, one.Name)
			if one.Always != words[one.Name] {
				t.Errorf("%s: %+v", name, one)
			}
		}
		if !slices.Equal(puts, c.puts) {
			t.Errorf("%s puts %q, not %q", name, puts, c.puts)
		}
		if has := Read(name, c.text).Has; c.mentioned != nil && !slices.Equal(has, c.mentioned) {
			t.Errorf("%s has %q, not %q", name, has, c.mentioned)
		}
	}
}

// TestSettles: no function elsewhere stands in the place of a text's own, but in a shell that of a script
// which is read behind it.
func TestSettles(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		settled []string
	}{
		"t.c":   {"#define five 5\nstatic int two(void) { return 2; }\nint main(void)\n{\n\treturn two() + three();\n}\n", []string{"two", "main"}},
		"own.c": {"/*\nint one(void) { return 1; }\n*/\n#if 0\nint two(void) { return 2; }\n#else\nint three(void) { return 3; }\n# ifdef X\n# endif\nint four(void) { return 4; }\n#endif\n#define five int \\\nfive(void) { return 5; }\nint main(void)\n{\n#ifdef X\n\treturn 1;\n#endif\n}\nint six(void) { return 6; }\n", []string{"main", "six"}},
		"by.sh": {"one() { :; }\ncommand . ./x\ntwo() { :; }\nbuiltin source x\nthree() { :; }\n\\. ./x\nfour() { :; }\n\"source\" x\nfive() { :; }\ncommand -p . ./x\nsix() { command -v x; }\n", []string{"six"}},
		"t.sh":  {"one() { :; }\nif test -e x; then . x; fi\ntwo() { one; }\nalias three=two\nthree\n", []string{"two"}},
		"t.go":  {"package t\n\nfunc One() {}\n", nil},
	} {
		if settled := Read(name, c.text).Settles; !slices.Equal(settled, c.settled) {
			t.Errorf("%s settles %q, not %q", name, settled, c.settled)
		}
	}
	for text, later := range map[string]bool{"one() { source ./x; }\none\n": true, "if :; then one() ( \\. x ); fi\n": true, ". ./x\none() { :; }\n": false, "one() {": false} {
		if Read("t.sh", text).ReadsLater != later || Read("t.c", text).ReadsLater {
			t.Errorf("%q reads later: not %t", text, later)
		}
	}
}

// TestNarrowC: what a program of C looks by has the sizes of a file for 32 bits, too.
func TestNarrowC(t *testing.T) {
	tier.First(t, "it runs a compiler")
	cc := func(in string, options ...string) ([]byte, error) {
		cmd := exec.Command("cc", append(options, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c", "-")...)
		cmd.Stdin = strings.NewReader(in)
		return cmd.CombinedOutput()
	}
	text, ok := CheckAtEnd("t.c", "int main(void) { return 0; }\n", Change{"W", func(string) (int, How) { return 1, Tell }}, func(string) bool { return true })
	if !ok {
		t.Fatal("nothing is made of it")
	}
	for option, sizes := range map[string][3]string{"-m64": {"64", "64", "24"}, "-m32": {"52", "40", "16"}} {
		if out, err := cc("int x;\n", option); err != nil {
			t.Logf("SKIPPED: %s: %s", option, out)
			continue
		}
		checks := "_Static_assert(sizeof(struct ward_file) == " + sizes[0] + " && sizeof(struct ward_part) == " + sizes[1] + " && sizeof(struct ward_symbol) == " + sizes[2] + ", \"\");\n"
		if out, err := cc(text+checks, option); err != nil {
			t.Errorf("%s: %s", option, out)
		}
	}
}
