// Package checks decides what may enter the repository: one file a check, all
// of them listed in Table, and Judge, which asks them about a push.
//
// What a push brings is found by package walk. A check hears of it in the order of
// Check's functions, and asks for more by its Pass.
package checks

import (
	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/git"
)

// How to add a check:
//
//  1. Write NAME.go: `var nameCheck = Check{...}` with Name, Doc, Rules and the functions
//     that the check needs. Doc says what it refuses and why. Rules lists the rule of
//     every finding that it reports: ABOUT/WHAT. A check that remembers something from
//     one call to the next is made by a function, as newLinkCheck is: Table is made anew
//     for every push.
//  2. Add it to Table, where its finding helps a reader most.
//  3. Report with pass.Report: Pos says commit, path and line, Rule one of Rules,
//     Message what is wrong, Hint the command that mends it. Text of the pusher's goes
//     through %q or diag.Clean. An error that a function returns is trouble of the
//     host's and refuses the push with exit 2; what is wrong with the push is a finding.
//  4. Write testdata/NAME/*.txtar: one push each, clean or with the findings that it is to
//     have; fixture_test.go has the form. The tests ask for a clean push, for a finding of
//     each of Rules, and for a hint with each. `go test -short ./hooks/checks` runs them all
//     in seconds.

// Check is one concern. Each function is optional, and is called in this order.
type Check struct {
	Name  string
	Doc   string   // what it refuses, and why, in one or two sentences
	Rules []string // of its findings; "comms/*" stands for those of a document's own parser

	// Ref is called for every update, before anything is read.
	Ref func(*Pass, push.Update)
	// Tag is called for every tag object in an update.
	Tag func(*Pass, *walk.Tag)
	// Commit is called for every new commit.
	Commit func(*Pass, *walk.Commit)
	// Path is called for every path that a new commit adds or changes.
	Path func(*Pass, *walk.Commit, walk.Change)
	// Blob is called once for every new content at each path.
	Blob func(*Pass, *walk.Commit, walk.Change, []byte)
	// Names is called for every directory ("" or "dir/") of a new commit whose names no single
	// parent has; bit i of in[j] is set if parent i has the name of entries[j].
	Names func(pass *Pass, c *walk.Commit, dir string, entries []git.Entry, in []uint16)
	// Whole is called for every new commit after all of that, with its parents' trees.
	Whole func(pass *Pass, c *walk.Commit, parents []string) error
	// Tip is called for every ref that ends at a commit, with its difference.
	Tip func(*Pass, *walk.Tip) error
	// Unit is called instead of Tip for every journal, and Record for every record.
	Unit   func(*Pass, *walk.Tip) error
	Record func(*Pass, *walk.Tip) error
}

// Table is every check, in the order in which their findings are explained to
// people, made anew for one push. A room that brings a document adds its line here.
func Table() []Check {
	sources := &sourceCache{}
	return []Check{
		objectCheck, limitCheck,
		refCheck, leaseCheck, rightsCheck, protectedCheck, optionCheck,
		commitCheck, pathCheck, namesCheck, modeCheck, bareCheck, newLinkCheck(), runtimeCheck,
		textCheck, newSecretCheck(), redactedCheck,
		commsCheck, versionCheck, metaCheck, newPlanCheck(), newUDCCheck(), registryCheck, newLessonsCheck(), postMortemCheck,
		newProtocolCheck(sources), newReplayCheck(sources),
		unitCheck, policyCheck, recordCheck, newEvidenceCheck(),
	}
}
