package checks_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"git-ward/hooks/checks"
)

// fixtures are the files of pushes, testdata/CHECK/NAME.txtar.
func fixtures(t *testing.T) []string {
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// TestFixtures: every push has the findings that its fixture wants, and no others.
func TestFixtures(t *testing.T) {
	var mu sync.Mutex
	reported := map[string]bool{}
	t.Run("push", func(t *testing.T) {
		for _, file := range fixtures(t) {
			t.Run(name(file), func(t *testing.T) {
				t.Parallel()
				f := parseFixture(t, file)
				s, p := f.make(t)
				result := s.judge(p)
				left := slices.Clone(f.want)
				for _, d := range result.Findings {
					mu.Lock()
					reported[d.Rule] = true
					mu.Unlock()
					text := rendered(d)
					i := wanted(left, text)
					if i < 0 {
						t.Errorf("nobody wants %q", text)
						continue
					}
					if d.Hint == "" {
						t.Errorf("%q says nobody what to do", text)
					}
					left = slices.Delete(left, i, i+1)
				}
				for _, want := range left {
					t.Errorf("no finding begins with %q", want)
				}
			})
		}
	})
	for _, check := range checks.Table() {
		for _, rule := range check.Rules {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(reported)), func(r string) bool { return documents(rule, r) }) {
				t.Errorf("no fixture has the finding %s, which the check %s documents", rule, check.Name)
			}
		}
	}
	for rule := range reported {
		if !documented(rule) {
			t.Errorf("the rule %s is reported, and no check documents it", rule)
		}
	}
}

// wanted is the index of the longest want that a finding begins with, -1 for none.
func wanted(wants []string, text string) int {
	at := -1
	for i, want := range wants {
		if strings.HasPrefix(text, want) && (at < 0 || len(want) > len(wants[at])) {
			at = i
		}
	}
	return at
}

// documents reports whether an entry of a check's Rules stands for a rule.
func documents(entry, rule string) bool {
	family, ok := strings.CutSuffix(entry, "*")
	return entry == rule || ok && strings.HasPrefix(rule, family)
}

func documented(rule string) bool {
	var entries []string
	for _, check := range checks.Table() {
		entries = append(entries, check.Rules...)
	}
	return slices.ContainsFunc(entries, func(entry string) bool { return documents(entry, rule) })
}

// TestEveryCheckHasFixtures: a check has a push that passes and one with a finding of
// its own, and says in its Doc what it is for.
func TestEveryCheckHasFixtures(t *testing.T) {
	known := map[string]bool{}
	for _, check := range checks.Table() {
		if known[check.Name] {
			t.Errorf("two checks are called %s", check.Name)
		}
		known[check.Name] = true
		if len(check.Doc) < 40 || len(check.Rules) == 0 {
			t.Errorf("%s: Doc and Rules say too little", check.Name)
		}
		files, err := filepath.Glob(filepath.Join("testdata", check.Name, "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		clean, own := false, false
		for _, file := range files {
			f := parseFixture(t, file)
			clean = clean || len(f.want) == 0
			own = own || slices.ContainsFunc(f.want, func(want string) bool {
				return slices.ContainsFunc(check.Rules, func(rule string) bool { return strings.Contains(want, strings.TrimSuffix(rule, "*")) })
			})
		}
		if !clean || !own {
			t.Errorf("testdata/%s has a clean push: %v, and one that the check has a finding of: %v", check.Name, clean, own)
		}
	}
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !known[folder.Name()] {
			t.Errorf("testdata/%s is of no check", folder.Name())
		}
	}
}

// aRule is the form of a rule's id.
var aRule = regexp.MustCompile(`^[a-z]+/[a-z][a-z-]*$`)

// TestEveryRuleIsDocumented: what stands in this package's code as a rule is among the
// Rules of a check.
func TestEveryRuleIsDocumented(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var exact []string
	for _, check := range checks.Table() {
		exact = append(exact, check.Rules...)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range rulesIn(parsed) {
			found++
			if !slices.Contains(exact, rule) {
				t.Errorf("%s: the rule %s stands in no check's Rules", file, rule)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d rules were found: the test says little", found)
	}
}

// rulesIn are the texts of a file that have the form of a rule and stand where one does:
// outside lists and imports.
func rulesIn(file *ast.File) (rules []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.CompositeLit:
			if lit, ok := n.(*ast.CompositeLit); ok {
				_, list := lit.Type.(*ast.ArrayType)
				return !list
			}
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && aRule.MatchString(text) {
				rules = append(rules, text)
			}
		}
		return true
	})
	return rules
}
