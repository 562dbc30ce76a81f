// Package broken rewrites tests so that they fail, for the control of a proof: a command
// that holds all the same does not depend on them (PROOF-3). It reads and writes text only.
package broken

import (
	"path"
	"strings"
)

// language is how one language's tests are found and rewritten. A file without a test that
// was found is "".
type language struct {
	// atEnd has each test fail when it has run to its end: a test that something else ends,
	// as code under test that ends the process, does not.
	atEnd func(text string) string
	// only has the tests by name and nothing else, so that it needs no code under test; nil
	// where tests stand beside what they test.
	only func(text string, fail bool) string
	// begun has each test fail as it begins, with a word; nil as long as hollow is.
	begun func(text, word string) string
	// hollow is code of which nothing runs but what hands out its names.
	hollow func(text string) string
	// ends has a program fail when it has come to its end, and alone is a program that does
	// nothing but fail, or not; nil where a language's programs are not found by a name.
	// What takes the file in, and was not started by its name, is left alone by both.
	ends  func(name, text string, known func(string) bool) string
	alone func(name, text string, fail bool) string
}

var languages = map[string]language{
	".go": {atEnd: goAtEnd, only: goOnly, begun: goBegun, hollow: goHollow},
	".py": {pythonAtEnd, pythonOnly, pythonBegun, pythonHollow, pythonEnds, pythonAlone},
	".rs": {atEnd: rustAtEnd},
	".sh": shell, ".bash": shell, ".bats": {atEnd: batsAtEnd},
	".c":  {ends: cEnds, alone: cAlone},
	".js": javaScript, ".mjs": javaScript, ".cjs": javaScript, ".jsx": javaScript,
	".ts": javaScript, ".mts": javaScript, ".cts": javaScript, ".tsx": javaScript,
}

var (
	javaScript = language{atEnd: javaScriptAtEnd, only: javaScriptOnly, ends: javaScriptEnds, alone: javaScriptAlone}
	shell      = language{ends: shellEnds, alone: shellAlone}
)

// MayTest reports whether a file's name is one that tests may have; Go's have a name of
// their own.
func MayTest(name string) bool {
	return languages[path.Ext(name)].atEnd != nil && (path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"))
}

// AtEnd is a file whose tests run as before and fail at their end. ok is false for one
// without a test that can be found.
func AtEnd(name, text string) (changed string, ok bool) {
	if MayTest(name) {
		changed = languages[path.Ext(name)].atEnd(text)
	}
	return changed, changed != ""
}

// Only is a file that has nothing but tests of the same names, which all fail, or all pass:
// it needs none of the code that they tested. ok is false where none can be made.
func Only(name, text string, fail bool) (changed string, ok bool) {
	if only := languages[path.Ext(name)].only; MayTest(name) && only != nil {
		changed = only(text, fail)
	}
	return changed, changed != ""
}

// MayCheck reports whether a file's name is one that a program may have which checks others
// and says so by its exit code.
func MayCheck(name string) bool { return languages[path.Ext(name)].ends != nil }

// CheckAtEnd is a program that does as before, and fails when it has come to its end. ok is
// false for one of which that is not sure: of a file that it takes in, known says by the last
// part of its path whether all that may end it there is known, too.
func CheckAtEnd(name, text string, known func(string) bool) (changed string, ok bool) {
	if MayCheck(name) {
		changed = languages[path.Ext(name)].ends(path.Base(name), text, known)
	}
	return changed, changed != ""
}

// CheckOnly is a program of that name that does nothing but fail, or not.
func CheckOnly(name, text string, fail bool) string {
	return languages[path.Ext(name)].alone(path.Base(name), text, fail)
}

// Begun is a file whose tests fail as they begin, and say a word. ok is false for one
// without a test that can be found, or of a language that has no Hollow.
func Begun(name, text, word string) (changed string, ok bool) {
	if begun := languages[path.Ext(name)].begun; MayTest(name) && begun != nil {
		changed = begun(text, word)
	}
	return changed, changed != ""
}

// Hollow is code with the same names, of which nothing runs: what it declares is there, and
// does nothing. ok is false where that cannot be made.
func Hollow(name, text string) (changed string, ok bool) {
	if hollow := languages[path.Ext(name)].hollow; hollow != nil {
		changed = hollow(text)
	}
	return changed, changed != ""
}
