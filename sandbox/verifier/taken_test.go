package verifier

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/tier"
	"git-ward/protocols/loop"
)

// TestTaken: in Go, C and shell, too, what the work puts in the place of something that a test uses
// is named, and a function of a test's that the work ends; what the test does itself is not (PROOF-3).
func TestTaken(t *testing.T) {
	tier.Full(t, "it runs many commands")
	const (
		begun = "package calc\n\nimport (\n\t\"sync\"\n\t\"testing\"\n)\n\n"
		walks = "func TestAll(t *testing.T) {\n\tvar all sync.WaitGroup\n\tfor n := 0; n < 3; n++ {\n\t\tall.Add(1)\n\t\tgo func(n int) {\n\t\t\tdefer all.Done()\n\t\t\tif Double(n) != n+n {\n\t\t\t\tt.Error(n)\n\t\t\t}\n\t\t}(n)\n\t}\n\tall.Wait()\n}\n"
		own   = "func TestAll(t *testing.T) {\n\tdone := make(chan int)\n\tgo func() {\n\t\tdefer close(done)\n\t\tif Double(3) == 6 {\n\t\t\truntime.Goexit()\n\t\t}\n\t\tt.Error()\n\t}()\n\t<-done\n}\n"
		short = "func TestAll(t *testing.T) {\n\tif Double(1) != 2 {\n\t\tt.Fatal()\n\t}\n\tif !testing.Short() && os.Getenv(\"QUICK\") == \"\" && len(os.Args) > 1 && len(os.Args) < 9 && Double(2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n"
		loud  = "package calc\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif Double(1) != 2 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestTwo(t *testing.T) {\n\tif testing.Verbose() && Double(2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n"
		flags = "package calc\n\nimport (\n\t\"flag\"\n\t\"net/netip\"\n\t\"testing\"\n)\n\ntype loud struct {\n\tof map[string]int\n\tby string\n}\n\nfunc (l *loud) String() string { return l.by }\n\nfunc (l *loud) Set(s string) error {\n\tl.of[s]++\n\tl.by = \"by \" + s\n\treturn nil\n}\n\ntype list []string\n\nfunc (l *list) String() string {\n\tif len(*l) == 0 {\n\t\treturn \"\"\n\t}\n\treturn (*l)[len(*l)-1] + \".\"\n}\n\nfunc (l *list) Set(s string) error {\n\t*l = append(*l, s)\n\treturn nil\n}\n\nvar at netip.Addr\n\nfunc init() {\n\tflag.Var(&loud{of: map[string]int{}}, \"loud\", \"\")\n\tflag.Func(\"call\", \"\", func(string) error { return nil })\n\tflag.TextVar(&at, \"at\", netip.Addr{}, \"\")\n\tflag.Var(&list{}, \"all\", \"\")\n}\n\nfunc TestFlags(t *testing.T) {\n\tif Double(2) != 4 {\n\t\tt.Fatal(at)\n\t}\n}\n"
		globs = "package calc\n\nimport (\n\t\"path/filepath\"\n\t\"testing\"\n)\n\nfunc TestAll(t *testing.T) {\n\tall, _ := filepath.Glob(\"*.go\")\n\tfor _, name := range all {\n\t\tif Double(len(name)) != 2*len(name) {\n\t\t\tt.Error(name)\n\t\t}\n\t}\n}\n"
		table = "package calc\n\nimport \"testing\"\n\nvar cases = struct{ all []int }{[]int{2, 3}}\n\nfunc TestAll(t *testing.T) {\n\tfor _, n := range cases.all {\n\t\tif Double(n) != n+n {\n\t\t\tt.Error(n)\n\t\t}\n\t}\n}\n"
		good  = "func Double(n int) int { return 2 * n }\n"
		eof   = "package calc\n\nimport (\n\t\"io\"\n\t\"testing\"\n)\n\nfunc TestRead(t *testing.T) {\n\tif err := Read(); err != io.EOF {\n\t\tt.Fatal(err)\n\t}\n}\n"
	)
	goMain := func(tests string) files {
		return files{"go.mod": goMod, "calc.go": "package calc\n\nfunc Double(n int) int { return 1 }\n", "calc_test.go": tests}
	}
	shorts := goMain("package calc\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" + short)
	goWork := func(imports, text string) files { return files{"calc.go": "package calc\n" + imports + "\n" + text} }
	goBad := func(does string) string {
		return "func init() { " + does + " }\n\nfunc Double(n int) int { return 2 }\n"
	}
	c := func(test string) files {
		return files{"Makefile": "check:\n\t$(CC) -o t calc.c tests/t.c && ./t\n", "calc.c": "const char *name(int n) { return \"no\"; }\n", "tests/t.c": test}
	}
	const (
		cHead  = "#include <assert.h>\n#include <string.h>\n#include <time.h>\nconst char *name(int);\n"
		cWalks = cHead + "int main(void) {\n\tstatic const char *const want[] = { \"zero\", \"one\" };\n\tfor (int i = 0; i < 2; i++)\n\t\tif (memcmp(name(i), want[i], 3)) return 1;\n\treturn 0;\n}\n"
		cCheck = cHead + "int main(void) {\n\tstatic const char *const want[] = { \"zero\", \"one\" };\n\tfor (int i = 0; i < 2; i++)\n\t\tassert(!strcmp(name(i), want[i]));\n\treturn 0;\n}\n"
		cClock = cHead + "time_t time(time_t *t) { (void)t; return 7; }\nint main(void) { return strcmp(name(1), \"one\") || time(0) != 7; }\n"
		cLacks = cHead + "#include \"../calc.h\"\n#ifndef HAVE_SAME\nstatic int same(const char *a, const char *b)\n{\n\treturn !strcmp(a, b);\n}\n#endif\nint main(void) { return !same(name(1), \"one\"); }\n"
		cPart  = cHead + "int main(void) {\n\tstatic const char want[] = \"zero\";\n\tif (strncmp(name(1), \"one\", 2)) return 1;\n\tif (strncmp(name(1), \"one\", 2) != 0) return 1;\n\treturn memcmp(name(0), want, 3) != 0;\n}\n"
		cGood  = "const char *name(int n) { return n ? \"one\" : \"zero\"; }\n"
		cBad   = "const char *name(int n) { return \"bad\"; }\n"
	)
	ch := func(test string) files { // its own header comes first, or after all others
		all := c(strings.Replace(test, "const char *name(int);\n", "#include \"../calc.h\"\n", 1))
		if test == cCheck {
			all["tests/t.c"] = "#include \"../calc.h\"\n" + strings.Replace(test, "const char *name(int);\n", "", 1)
		}
		all["calc.h"] = "const char *name(int);\n"
		return all
	}
	sh := func(test string) files {
		return files{"calc.sh": "name() { echo no; }\n", "tests/t.sh": test}
	}
	with := func(all, more files) files {
		maps.Copy(all, more)
		return all
	}
	const (
		shHead  = "#!/bin/sh\nset -eu\n. ./calc.sh\n"
		shTest  = shHead + "for n in one two; do\n\ttest \"$(name $n)\" = \"$n\" || exit 1\ndone\n"
		shGrep  = shHead + "name one | grep -q one\n[ \"$(name two)\" = two ]\n"
		shDiff  = shHead + "name one >got\necho one | diff got -\n"
		shOwn   = "#!/bin/sh\nset -e\ntest() { [ \"$@\" ]; }\nexpr() { echo 3; }\n. ./calc.sh\ntest \"$(name one)\" = one\ntest \"$(expr 1)\" = 3 || exit 1\n"
		shUnit  = "#!/bin/sh\nset -eu\n. tests/lib.sh\n. ./calc.sh\nassert_eq \"$(name one)\" one\n"
		shMain  = shHead + "usage() { exit 2; }\nmain() { [ $# = 1 ] || usage; test \"$(name \"$1\")\" = one; }\nmain one\n"
		shLast  = "#!/bin/sh\nset -eu\nsame() { [ \"$1\" = \"$2\" ]; }\n. ./calc.sh\nsame \"$(name one)\" one\n"
		shRead  = "#!/bin/sh\nset -eu\n. ./calc.sh\nsame() { [ \"$1\" = \"$2\" ]; }\nname one >got\nsame \"$(cat got)\" one\n"
		shLoads = "#!/bin/sh\nset -eu\n. tests/lib.sh\nsame() { [ \"$1\" = \"$2\" ]; }\nload\nsame \"$(name one)\" one\n"
		shGood  = "name() { echo \"$1\"; }\n"
		shWorse = "name() { echo bad; }\n"
	)
	for name, s := range map[string]struct {
		needs          string
		main, agents   files
		line           string
		replaced, lost []string
	}{
		"go: a goroutine is ended":         {"go", goMain(begun + walks), goWork("\nimport \"runtime\"\n", "func Double(n int) int { runtime.Goexit(); return 1 }\n"), "go test ./...", nil, []string{"calc_test.go: TestAll: the function in line 12, by example.org/calc.Double"}},
		"go: by testing's own":             {"go", goMain(begun + walks), goWork("\nimport \"testing\"\n", "func Double(n int) int { new(testing.T).SkipNow(); return 1 }\n"), "go test ./...", nil, []string{"calc_test.go: TestAll: the function in line 12, by example.org/calc.Double"}},
		"go: the test goes on at once":     {"go", goMain(begun + strings.Replace(walks, "defer all.Done()", "defer func() { all.Done(); select {} }()", 1)), goWork("\nimport \"testing\"\n", "func Double(n int) int { new(testing.T).SkipNow(); return 1 }\n"), "go test ./...", nil, []string{"calc_test.go: TestAll: the function in line 12, by example.org/calc.Double"}},
		"go: honest":                       {"go", goMain(begun + walks), goWork("", good), "go test ./...", nil, nil},
		"go: the test ends it":             {"go", goMain("package calc\n\nimport (\n\t\"runtime\"\n\t\"testing\"\n)\n\n" + own), goWork("", good), "go test ./...", nil, nil},
		"go: arguments":                    {"go", shorts, goWork("\nimport \"os\"\n", goBad("os.Args = append(os.Args, \"-test.short\")")), "go test ./...", []string{"calc_test.go: os.Args", "calc_test.go: the flag test.short"}, nil},
		"go: a flag":                       {"go", shorts, goWork("\nimport (\n\t\"flag\"\n\t\"testing\"\n)\n", goBad("testing.Init(); flag.Set(\"test.short\", \"true\")")), "go test ./...", []string{"calc_test.go: the flag test.short"}, nil},
		"go: a variable":                   {"go", shorts, goWork("\nimport \"os\"\n", goBad("os.Setenv(\"QUICK\", \"1\")")), "go test ./...", []string{"calc_test.go: the variable QUICK"}, nil},
		"go: a flag of a longer name's":    {"go", shorts, goWork("\nimport (\n\t\"flag\"\n\t\"testing\"\n)\n", goBad("testing.Init(); flag.Set(\"test.short\", \"true\")")), "go test ./... -args -- -test.shorter", []string{"calc_test.go: the flag test.short"}, nil},
		"go: a flag's value":               {"go", shorts, goWork("\nimport (\n\t\"flag\"\n\t\"testing\"\n)\n", goBad("testing.Init(); flag.Lookup(\"test.short\").Value.Set(\"true\")")), "go test ./...", []string{"calc_test.go: the flag test.short"}, nil},
		"go: a flag of testing's own type": {"go", goMain(loud), goWork("\nimport \"flag\"\n", "func Double(n int) int { flag.Set(\"test.v\", \"false\"); return 2 }\n"), "go test -v ./...", []string{"calc_test.go: the flag test.v"}, nil},
		"go: a flag's default":             {"go", shorts, goWork("\nimport (\n\t\"flag\"\n\t\"testing\"\n)\n", goBad("testing.Init(); f := flag.Lookup(\"test.short\"); f.Value.Set(\"1\"); f.DefValue = \"true\"")), "go test ./...", []string{"calc_test.go: the flag test.short"}, nil},
		"go: arguments, in one":            {"go", shorts, goWork("\nimport (\n\t\"os\"\n\t\"strings\"\n)\n", goBad("os.Args = []string{strings.Join(os.Args, \"\\x00\")}")), "go test ./...", []string{"calc_test.go: os.Args", "calc_test.go: the flag test.paniconexit0", "calc_test.go: the flag test.testlogfile", "calc_test.go: the flag test.timeout"}, nil},
		"go: other flags":                  {"go", shorts, goWork("\nimport (\n\t\"flag\"\n\t\"testing\"\n)\n", goBad("testing.Init(); old := flag.CommandLine; old.Set(\"test.short\", \"true\"); flag.CommandLine = flag.NewFlagSet(\"\", 0); old.VisitAll(func(f *flag.Flag) { if f.Name == \"test.short\" { flag.Bool(f.Name, false, \"\") } else { flag.Var(f.Value, f.Name, \"\") } })")), "go test ./...", []string{"calc_test.go: flag.CommandLine"}, nil},
		"go: flags, honest":                {"go", shorts, goWork("", good), "go test -v -timeout 9m -parallel 2 -run=. -cpu 1,2 ./... -args x -test.short", nil, nil},
		"go: another's flags, honest":      {"go", goMain(flags), goWork("", good), "go test ./... -args -loud=1 -call=x -at=0001:: -all=a -all=b", nil, nil},
		"go: a library's variable":         {"go", goMain(eof), goWork("\nimport \"io\"\n", "func init() { io.EOF = io.ErrUnexpectedEOF }\n\nfunc Read() error { return io.ErrUnexpectedEOF }\n"), "go test ./...", []string{"calc_test.go: io.EOF"}, nil},
		"go: by its address":               {"go", goMain(eof), goWork("\nimport other \"io\"\n", "func init() { p := &other.EOF; *p = other.ErrUnexpectedEOF }\n\nfunc Read() error { return other.ErrUnexpectedEOF }\n"), "go test ./...", []string{"calc_test.go: io.EOF"}, nil},
		"go: by a dot":                     {"go", goMain(eof), goWork("\nimport . \"io\"\n", "func init() { EOF = ErrNoProgress }\n\nfunc Read() error { return ErrNoProgress }\n"), "go test ./...", []string{"calc_test.go: io.EOF"}, nil},
		"go: a test's own variable":        {"go", goMain(table), goWork("", goBad("cases.all = cases.all[:0]")), "go test ./...", []string{"calc_test.go: cases"}, nil},
		"go: of a test's name, honest":     {"go", with(goMain(table), files{"other.go": "package calc\n\nvar limit = 9\n", "sub/a_test.go": "package sub\n\nvar limit, double int\n", "out_test.go": "package calc_test\n\nvar bits int\n"}), goWork("\nimport \"math/bits\"\n", "type both struct{ cases int }\n\nfunc Double(n int) int { limit += bits.Len(0); return both{cases: 2 * n}.cases }\n"), "go test ./...", nil, nil},
		"go: a library's variable, honest": {"go", goMain(eof), goWork("\nimport (\n\t\"io\"\n\t\"log\"\n)\n", "func Read() error { log.Default().SetFlags(0); err := io.EOF; return err }\n"), "go test ./...", nil, nil},
		"go: another directory":            {"go", goMain(globs), goWork("\nimport \"os\"\n", goBad("os.Chdir(\"/\")")), "go test ./...", []string{"calc_test.go: the working directory"}, nil},
		"go: nothing of these":             {"go", shorts, goWork("", good), "go test ./...", nil, nil},
		"c: what compares":                 {"cc", c(cWalks), files{"calc.c": cBad + "int memcmp(const void *a, const void *b, unsigned long n) { return 0; }\n"}, "make -s check", []string{"tests/t.c: memcmp"}, nil},
		"c: what assert calls":             {"cc", c(cCheck), files{"calc.c": cBad + "void __assert_fail(const char *a, const char *b, unsigned n, const char *c) {}\n"}, "make -s check", []string{"tests/t.c: __assert_fail"}, nil},
		"c: of no type":                    {"cc", c(cWalks), files{"calc.c": cBad + "int same(const void *a, const void *b, unsigned long n) { return 0; }\n__asm__(\".globl memcmp\\n.type memcmp, %notype\\n.set memcmp, same\\n.type memcmp, %notype\");\n"}, "make -s check", []string{"tests/t.c: memcmp"}, nil},
		"c: a hidden one":                  {"cc", c(cWalks), files{"calc.c": cBad + "__attribute__((visibility(\"hidden\")))\nint memcmp(const void *a, const void *b, unsigned long n) { return 0; }\n"}, "make -s check", []string{"tests/t.c: memcmp"}, nil},
		"c: a header's function":           {"cc", ch(cCheck), files{"calc.h": "const char *name(int);\nstatic void __assert_fail(const char *a, const char *b, unsigned n, const char *c) {}\n", "calc.c": cBad}, "make -s check", []string{"tests/t.c: __assert_fail"}, nil},
		"c: a header's macro":              {"cc", ch(cWalks), files{"calc.h": "const char *name(int);\n#define memcmp(a, b, n) (a == b)\n", "calc.c": cBad}, "make -s check", []string{"tests/t.c: memcmp"}, nil},
		"c: a header, honest":              {"cc", ch(cWalks), files{"calc.h": "const char *name(int);\n#define FIRST \"zero\"\nstatic inline int twice(int n) { return n + n; }\n", "calc.c": cGood + "int i(void) { return 0; }\nint want(void) { return 1; }\n"}, "make -s check", nil, nil},
		"c: a header has what it lacks":    {"cc", with(c(cLacks), files{"calc.h": ""}), files{"calc.h": "#define HAVE_SAME\nstatic int same(const char *a, const char *b) { return 1; }\n", "calc.c": cBad}, "make -s check", []string{"tests/t.c: same"}, nil},
		"c: honest":                        {"cc", c(cCheck), files{"calc.c": cGood + "static int strlen(const char *s) { return *s; }\nint longer(const char *s) { return strlen(s) > 1; }\n"}, "make -s check", nil, nil},
		"c: a new program, honest":         {"cc", c(cCheck), files{"calc.c": cGood, "calc.tool.c": "int main(void) { return 0; }\n"}, "make -s check", nil, nil},
		"c: the test's own clock":          {"cc", c(cClock), files{"calc.c": cGood}, "make -s check", nil, nil},
		"c: a part, honest":                {"cc", c(cPart), files{"calc.c": cGood}, "make -s check", nil, nil},
		"sh: test":                         {"sh", sh(shTest), files{"calc.sh": shWorse + "test() { :; }\n"}, "sh tests/t.sh", []string{"tests/t.sh: test"}, nil},
		"sh: grep, and [":                  {"bash", sh(shGrep), files{"calc.sh": shWorse + "grep() { cat >/dev/null; }\nfunction [() { :; }\n"}, "bash tests/t.sh", []string{"tests/t.sh: [", "tests/t.sh: grep"}, nil},
		"sh: an alias":                     {"dash", sh(shDiff), files{"calc.sh": shWorse + "alias diff=:\n"}, "dash tests/t.sh", []string{"tests/t.sh: diff"}, nil},
		"sh: no errors":                    {"dash", sh(shTest), files{"calc.sh": shGood + "set +e\n"}, "dash tests/t.sh", []string{"tests/t.sh: set -e"}, nil},
		"sh: no errors, in bash":           {"bash", sh(strings.Replace(shGrep, "set -eu", "set -o pipefail -eu", 1)), files{"calc.sh": shGood + "set +o pipefail +e\n"}, "bash tests/t.sh", []string{"tests/t.sh: set -o errexit", "tests/t.sh: set -o pipefail"}, nil},
		"sh: more errors, honest":          {"bash", sh(shGrep), files{"calc.sh": "set -o pipefail\n" + shGood + "(set +e)\n"}, "bash tests/t.sh", nil, nil},
		"sh: another path":                 {"sh", sh(shDiff), files{"calc.sh": shWorse + "mkdir -p b && printf '#!/bin/sh\\ncat >/dev/null\\n' >b/diff && chmod +x b/diff && PATH=$PWD/b:$PATH\n"}, "sh tests/t.sh", []string{"tests/t.sh: diff"}, nil},
		"sh: a harness's function":         {"sh", with(sh(shUnit), files{"tests/lib.sh": "assert_eq() { [ \"$1\" = \"$2\" ]; }\n"}), files{"calc.sh": shWorse + "assert_eq() { :; }\n"}, "sh tests/t.sh", []string{"tests/t.sh: assert_eq"}, nil},
		"sh: a harness's own test":         {"sh", with(sh("#!/bin/sh\nset -eu\n. tests/lib.sh\n. ./calc.sh\ntest \"$(name one)\" = one\n"), files{"tests/lib.sh": "test() { [ \"$@\" ]; }\n"}), files{"calc.sh": shWorse + "test() { :; }\n"}, "sh tests/t.sh", []string{"tests/t.sh: test"}, nil},
		"sh: a harness, honest":            {"sh", with(sh(shUnit), files{"tests/lib.sh": "assert_eq() { [ \"$1\" = \"$2\" ]; }\n"}), files{"calc.sh": shGood + "more() { name more; }\n"}, "sh tests/t.sh", nil, nil},
		"sh: a new program, honest":        {"sh", sh(shMain), files{"calc.sh": shGood, "calc.more.sh": "main() { :; }\nusage() { :; }\nmain\n"}, "sh tests/t.sh", nil, nil},
		"sh: the test's own, put anew":     {"sh", sh(shLast), files{"calc.sh": shWorse + "same() { :; }\n"}, "sh tests/t.sh", []string{"tests/t.sh: same"}, nil},
		"sh: put anew by a call":           {"sh", sh(shRead), files{"calc.sh": "name() { same() { :; }; echo bad; }\n"}, "sh tests/t.sh", []string{"tests/t.sh: same"}, nil},
		"sh: read by a call":               {"sh", sh(shRead), files{"calc.sh": "name() { . ./calc.more.sh; echo bad; }\n", "calc.more.sh": "same() { :; }\n"}, "sh tests/t.sh", []string{"tests/t.sh: same"}, nil},
		"sh: read by a harness":            {"sh", with(sh(shLoads), files{"tests/lib.sh": "load() { . ./calc.sh; }\n"}), files{"calc.sh": shWorse + "same() { :; }\n"}, "sh tests/t.sh", []string{"tests/t.sh: same"}, nil},
		"sh: read by a command":            {"bash", sh(strings.Replace(shLast, ". ./", "command . ./", 1)), files{"calc.sh": shWorse + "same() { :; }\n"}, "bash tests/t.sh", []string{"tests/t.sh: same"}, nil},
		"sh: honest":                       {"sh", sh(shTest), files{"calc.sh": shGood}, "sh tests/t.sh", nil, nil},
		"sh: honest, in bash":              {"bash", sh(shGrep), files{"calc.sh": shGood}, "bash tests/t.sh", nil, nil},
		"sh: the test's own functions":     {"sh", sh(shOwn), files{"calc.sh": shGood}, "sh tests/t.sh", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, s.needs)
			r, line := newRepository(t), s.line
			if s.needs == "go" {
				line = goLine(t, line)
			}
			claim := r.claimed(maps.Clone(s.main), s.agents, []string{"calc.*"}, line)
			claim.Controls = []string{Broken}
			f, err := r.verify(claim)
			if err != nil {
				t.Fatal(err)
			}
			if s.needs == "cc" && s.replaced == nil && slices.ContainsFunc(f.Controls, func(c Control) bool { return c.Says != loop.ControlFails }) {
				t.Errorf("%+v", f.Controls)
			}
			if !f.OK() || !slices.Equal(f.Replaced, s.replaced) || !slices.Equal(f.Lost, s.lost) {
				t.Errorf("replaced %q, not %q; lost %q, not %q; %+v %+v", f.Replaced, s.replaced, f.Lost, s.lost, f.Controls, f.Replays)
			}
		})
	}
}
