// Package sources tells a project's sources from its tests by name, with a small table of languages. It
// only suggests: a file that the table does not know is work only if the PM declares it, and a file with a
// test's name only if the PM names or includes that very path (PROOF-1).
package sources

import (
	"path"
	"slices"
	"strings"
	"sync"

	"git-ward/internal/pattern"
)

// language is a row.
type language struct {
	manifests string // names of the files that say where a project of it begins
	work      string // globs of sources below a manifest's directory
	exts      string // ends of the names of its programs' texts
	tests     string // names of its tests, in lower case
	apart     string // names that its tools look for by themselves, in lower case
	// bare: a command may name a source without its extension.
	bare bool
	// inside matches tests, and other lines that commands run, within a source.
	inside *pattern.Pattern
}

var languages = []language{
	{manifests: "go.mod", work: "**/*.go", exts: ".go", inside: pattern.New(`(?m)^//go:generate[ \t]`)},
	{
		manifests: "pyproject.toml setup.py setup.cfg", work: "src/**/*.py src/**/*.pyi", exts: ".py .pyi .pyx", bare: true,
		tests: "conftest.py load_tests.py sitecustomize.py usercustomize.py", apart: "setup.py noxfile.py tasks.py fabfile.py dodo.py pavement.py manage.py",
		inside: pattern.New(`(?m)^[ \t]*>>> |^[ \t]*class \w+\(.*TestCase\)|^[ \t]*(?:async )?def test_`),
	},
	{
		manifests: "package.json", work: "**/*.js **/*.mjs **/*.cjs **/*.jsx **/*.ts **/*.mts **/*.cts **/*.tsx",
		exts: ".js .mjs .cjs .jsx .ts .mts .cts .tsx .vue .svelte", bare: true,
		tests: "*.cy.* *.e2e.*", apart: "*.config.* *.conf.* *.workspace.* *.setup.* gulpfile.* gruntfile.* jakefile.* vitest.* jest.* playwright.* karma.* webpack.* rollup.* babel.* metro.*",
		inside: pattern.New(`import\.meta\.vitest`),
	},
	{manifests: "Cargo.toml", work: "src/**/*.rs", exts: ".rs", apart: "build.rs", inside: pattern.New(`#!?\[\s*(?:cfg\s*\(.*\btest\b|(?:\w+\s*::\s*)*test\b)|(?m:^[ \t]*//[/!].*` + "```" + `)`)},
	{
		// No headers: a new one could shadow those of the system and of tests.
		manifests: "Makefile makefile GNUmakefile CMakeLists.txt meson.build configure configure.ac", work: "**/*.c **/*.cc **/*.cpp **/*.cxx",
		exts: ".c .cc .cpp .cxx .h .hh .hpp .hxx .m .mm", inside: pattern.New(`(?m)^[ \t]*(?:TEST|TEST_F|TEST_CASE|BOOST_AUTO_TEST_CASE)[ \t]*\(`),
	},
	{manifests: "pom.xml build.gradle build.gradle.kts", work: "src/main/**/*.java src/main/**/*.kt", exts: ".java .kt .kts .scala .groovy"},
	{manifests: "Gemfile *.gemspec", work: "lib/**/*.rb app/**/*.rb", exts: ".rb .rake", bare: true, tests: "spec_helper.rb rails_helper.rb"},
	{exts: ".sh .bash .zsh", tests: "*.bats"}, // the shell has no manifest: a script is work where it is declared
	{exts: ".pl .pm .php .lua .cs .fs .swift .dart .ex .exs .erl .hs .ml .clj .jl .r .nim .zig .udc", tests: "*.t *.feature *.snap"},
}

// Names that all languages share, in lower case.
var (
	// testDirs are directories of tests and of their data.
	testDirs = set(`test tests testing spec specs e2e testdata __tests__ __mocks__ __snapshots__ __fixtures__ step_definitions fixture fixtures golden goldens snapshots`)
	// testNames are names of tests, and of files for them.
	testNames = strings.Fields(`*_test.* *_tests.* *-test.* *-tests.* *.test.* *.tests.* *_spec.* *-spec.* *.spec.* *.bench.* test_*.* tests_*.* test-*.* test.* tests.*
		expected.* *.expected.* golden.* *.golden *.golden.* *.approved.*`)
	// camelNames are names that only their capitals distinguish from other words.
	camelNames = strings.Fields(`*Test.* *Tests.* *TestCase.* *Spec.* *IT.java *IT.kt Test[A-Z]*.* *Suite.scala`)
	// helper matches the stem of a test helper's name.
	helper = pattern.New(`^(?:(?:test|mock|fake|stub)[^/]*|.*(?:helpers?|asserts?|assertions?|expects?|fakes?|mocks?|stubs?|checks?|matchers?|tests?|testing))$`)
	// apartDirs are directories of programs that build and check a project, vendoredDirs of other
	// people's code.
	apartDirs    = set(`__pycache__ tools scripts script hack ci build dist bench benches benchmarks examples cmake m4 meta-inf buildsrc magefiles`)
	vendoredDirs = set(`vendor node_modules bower_components third_party site-packages dist-packages`)
)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// IsTest reports whether a path has the name of a test, a test helper, or test data.
func IsTest(name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	for _, part := range parts {
		if testDirs[part] || helper.MatchString(strings.TrimSuffix(part, path.Ext(part))) {
			return true
		}
	}
	base := parts[len(parts)-1]
	return matches(testNames, base) || matches(camelNames, path.Base(name)) ||
		slices.ContainsFunc(languages, func(l language) bool { return matches(strings.Fields(l.tests), base) })
}

// HasTests reports whether sources of that name may contain tests.
func HasTests(name, text string) bool {
	l := of(name)
	return l != nil && l.inside != nil && l.inside.MatchString(text)
}

// IsProgram reports whether a name is that of a program's source in a language of the table.
func IsProgram(name string) bool { return of(name) != nil }

// of returns the row of a source's language, nil for none.
func of(name string) *language { return byExt()[strings.ToLower(path.Ext(name))] }

// byExt maps the extensions of sources to their rows.
var byExt = sync.OnceValue(func() map[string]*language {
	rows := map[string]*language{}
	for i := range languages {
		for _, ext := range strings.Fields(languages[i].exts) {
			rows[ext] = &languages[i]
		}
	}
	return rows
})

// IsVendored reports whether a path is in a directory of other people's code.
func IsVendored(name string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(name), "/"), func(part string) bool { return vendoredDirs[part] })
}

// isApart reports whether tools look for a path by themselves, or whether it is in a directory of
// programs that build and check a project.
func isApart(name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	for _, part := range parts {
		if apartDirs[part] || vendoredDirs[part] || strings.HasPrefix(part, ".") {
			return true
		}
	}
	base := parts[len(parts)-1]
	return slices.ContainsFunc(languages, func(l language) bool { return matches(strings.Fields(l.apart), base) })
}

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, _ := path.Match(g, name)
		return ok
	})
}
