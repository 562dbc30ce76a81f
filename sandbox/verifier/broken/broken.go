// Package broken rewrites tests so that they fail, for the control of a proof: a command
// that still holds does not depend on them (PROOF-3). Before it fails, a test reports how far it
// came, so that nobody has to believe an exit code. The package reads and writes text only.
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

// Change says how each test of a file is changed.
type Change struct {
	Word string // which is in no text but this
	// Of gives a test its number, which its reports carry, and the way in which it is broken. Two
	// tests of one name get different names; a program that checks by its exit code has the name "".
	Of func(test string) (id int, how How)
}

// mark identifies a test in what it reports. Its two parts stand nowhere side by side in a source,
// because a compiler may quote one.
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

// language says how one language's tests are found and rewritten. Where no test is found, the
// rewritten file is "".
type language struct {
	// tests finds the tests as the language's own runner does. With End, each fails when it has run
	// to its end. A test that something else ends, such as code under test that exits, reports
	// nothing. nil where a language has only programs.
	tests func(text string) []test
	// with adds what the changed tests call, or restores the file's format; nil where neither is
	// needed.
	with func(was, text, word string) string
	// only makes a file of the tests' names and nothing else, which needs no code under test; nil
	// where tests stand in the file that they test.
	only func(text string, c Change) string
	// hollow makes code that defines the same names and does nothing.
	hollow func(text string) string
	// ends makes a program fail when it has come to its end. alone is a program that only fails, or
	// only succeeds. Both are nil where a language's programs are not found by a name, and both
	// leave a process alone that includes the file and was not started by its name.
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

// inFile finds the tests of a file, and gives each a name of its own.
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

// unlike makes a name that none of the tests has.
func unlike(tests []test, name string) string {
	for slices.ContainsFunc(tests, func(t test) bool { return t.name == name }) {
		name += "'"
	}
	return name
}

// Has reports whether a file has a test that can be found.
func Has(name, text string) bool { return len(inFile(name, text)) > 0 }

// AtEnd changes the tests of a file. ok is false if none is changed.
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

// Only makes a file of tests with the same names that only fail, or only pass, so that it needs none
// of the code under test. ok is false where no such file can be made.
func Only(name, text string, c Change) (changed string, ok bool) {
	if only := languages[path.Ext(name)].only; MayTest(name) && only != nil {
		changed = only(text, c)
	}
	return changed, changed != ""
}

// MayCheck reports whether a file's name may be that of a program which checks others and answers by
// its exit code.
func MayCheck(name string) bool { return languages[path.Ext(name)].ends != nil }

// CheckAtEnd changes a program so that it reports that it has come to its end, and then fails if the
// change says so. ok is false where the program may end in another way. known says of a file that the
// program includes, by the last part of its path, whether all its ends are known.
func CheckAtEnd(name, text string, c Change, known func(string) bool) (changed string, ok bool) {
	if MayCheck(name) {
		id, how := c.Of("")
		changed = languages[path.Ext(name)].ends(path.Base(name), text, mark{c.Word, id, how == Tell}, known)
	}
	return changed, changed != ""
}

// CheckOnly makes a program of that name that only fails, or only succeeds.
func CheckOnly(name, text string, c Change) string {
	id, how := c.Of("")
	return languages[path.Ext(name)].alone(path.Base(name), text, mark{word: c.Word, id: id}, how == End)
}

// CanHollow reports whether code of the language of a file's name can be made hollow.
func CanHollow(name string) bool { return languages[path.Ext(name)].hollow != nil }

// Hollow makes code that declares the same names, each of which does nothing. ok is false where that
// cannot be made.
func Hollow(name, text string) (changed string, ok bool) {
	if CanHollow(name) {
		changed = languages[path.Ext(name)].hollow(text)
	}
	return changed, changed != ""
}
