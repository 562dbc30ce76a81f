// Package broken rewrites tests so that they fail, for the control of a proof: a command
// that holds all the same does not depend on them (PROOF-3). Each says before it fails what
// it came to, so that an exit code need not be believed. It reads and writes text only.
package broken

import (
	"path"
	"slices"
	"strings"
)

// How is the way in which a control breaks a test.
type How int

// The ways to break a test.
const (
	Keep How = iota // it stays as it is
	End             // it runs as before, says at its end what it came to, and fails
	Pass            // it does nothing and passes, where its language lets it
	Tell            // it runs as before, and says at its end what it came to, in the file alone
)

// Change is what becomes of each test of a file.
type Change struct {
	Word string // which is in no text but this
	// Of has a test's number, by which it says what it came to, and what becomes of it. Tests
	// of one name are told apart; a program that checks by its exit code has the name "".
	Of func(test string) (id int, how How)
}

// mark of a test: what it says, so that its two parts stand nowhere side by side in a text
// that a compiler may quote.
type mark struct {
	word string
	id   int
	tell bool // it is said in the file alone, and nothing fails for it
}

// test is one that was found in a text.
type test struct {
	name     string
	from, to int // bytes that are its own
	change   func(How, mark) []edit
}

// language is how one language's tests are found and rewritten. A file without a test that
// was found is "".
type language struct {
	// tests are found by what their language looks for: with End each fails when it has run
	// to its end. One that something else ends, as code under test that ends the process,
	// says nothing. nil where a language has only programs.
	tests func(text string) []test
	// with adds to a text whose tests were changed what they call, or has it look as it was;
	// nil for nothing.
	with func(was, text, word string) string
	// only has the tests by name and nothing else, so that it needs no code under test; nil
	// where tests stand beside what they test.
	only func(text string, c Change) string
	// hollow is code of which nothing runs but what hands out its names.
	hollow func(text string) string
	// ends has a program fail when it has come to its end, and alone is a program that does
	// nothing but fail, or not; nil where a language's programs are not found by a name.
	// What takes the file in, and was not started by its name, is left alone by both.
	ends  func(name, text string, m mark, known func(string) bool) string
	alone func(name, text string, m mark, fail bool) string
}

var languages = map[string]language{
	".go": {tests: goTests, with: goWith, only: goOnly, hollow: goHollow},
	".py": {pythonTests, pythonWith, pythonOnly, pythonHollow, pythonEnds, pythonAlone},
	".rs": {tests: rustTests},
	".sh": shell, ".bash": shell, ".bats": {tests: batsTests},
	".c":  {ends: cEnds, alone: cAlone},
	".js": javaScript, ".mjs": javaScript, ".cjs": javaScript, ".jsx": javaScript,
	".ts": typeScript, ".mts": typeScript, ".cts": typeScript, ".tsx": typeScript,
}

var (
	javaScript = language{javaScriptTests, javaScriptWith, javaScriptOnly, nil, javaScriptEnds, javaScriptAlone}
	typeScript = language{javaScriptTests, typeScriptWith, javaScriptOnly, nil, javaScriptEnds, javaScriptAlone}
	shell      = language{ends: shellEnds, alone: shellAlone}
)

// MayTest reports whether a file's name is one that tests may have; Go's have a name of
// their own.
func MayTest(name string) bool {
	return languages[path.Ext(name)].tests != nil && (path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"))
}

// inFile are the tests of a file, each of a name of its own.
func inFile(name, text string) []test {
	if !MayTest(name) {
		return nil
	}
	tests := languages[path.Ext(name)].tests(text)
	for i := range tests {
		tests[i].name = unlike(tests[:i], tests[i].name)
	}
	return tests
}

// unlike is a name that none of the tests has.
func unlike(tests []test, name string) string {
	for slices.ContainsFunc(tests, func(t test) bool { return t.name == name }) {
		name += "'"
	}
	return name
}

// Has reports whether a file has a test that can be found.
func Has(name, text string) bool { return len(inFile(name, text)) > 0 }

// AtEnd is a file whose tests are changed. ok is false for one in which none is.
func AtEnd(name, text string, c Change) (changed string, ok bool) {
	var edits []edit
	for _, t := range inFile(name, text) {
		if id, how := c.Of(t.name); how != Keep {
			edits = append(edits, t.change(how, mark{c.Word, id, how == Tell})...)
		}
	}
	if len(edits) == 0 {
		return "", false
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	changed = edited(text, edits)
	if with := languages[path.Ext(name)].with; with != nil {
		changed = with(text, changed, c.Word)
	}
	return changed, true
}

// Only is a file that has nothing but tests of the same names, which do nothing but fail, or
// pass: it needs none of the code that they tested. ok is false where none can be made.
func Only(name, text string, c Change) (changed string, ok bool) {
	if only := languages[path.Ext(name)].only; MayTest(name) && only != nil {
		changed = only(text, c)
	}
	return changed, changed != ""
}

// MayCheck reports whether a file's name is one that a program may have which checks others
// and says so by its exit code.
func MayCheck(name string) bool { return languages[path.Ext(name)].ends != nil }

// CheckAtEnd is a program that does as before, and says and fails when it has come to its
// end, or only says it. ok is false for one of which that is not sure: of a file that it takes in, known says
// by the last part of its path whether all that may end it there is known, too.
func CheckAtEnd(name, text string, c Change, known func(string) bool) (changed string, ok bool) {
	if MayCheck(name) {
		id, how := c.Of("")
		changed = languages[path.Ext(name)].ends(path.Base(name), text, mark{c.Word, id, how == Tell}, known)
	}
	return changed, changed != ""
}

// CheckOnly is a program of that name that does nothing but fail, or not.
func CheckOnly(name, text string, c Change) string {
	id, how := c.Of("")
	return languages[path.Ext(name)].alone(path.Base(name), text, mark{word: c.Word, id: id}, how == End)
}

// CanHollow reports whether code of the language of a file's name can be made hollow.
func CanHollow(name string) bool { return languages[path.Ext(name)].hollow != nil }

// Hollow is code with the same names, of which nothing runs: what it declares is there, and
// does nothing. ok is false where that cannot be made.
func Hollow(name, text string) (changed string, ok bool) {
	if CanHollow(name) {
		changed = languages[path.Ext(name)].hollow(text)
	}
	return changed, changed != ""
}
