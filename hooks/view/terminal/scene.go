// Package terminal shows a repository on a terminal while an agent works (SEE-1): which
// directive waits for whom and with which command, what the worker says and does as it
// comes, how far a verdict is, what it cost.
//
// A Scene is what is known, Screen makes text of it for so many columns and lines, Watch
// runs that as a terminal program, and Follow prints the changes as plain lines where there
// is no terminal. All of it only looks.
package terminal

import (
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/live"
)

// Scene is everything known at one moment.
type Scene struct {
	Now      time.Time
	Over     *view.Overview  // nil until it was read
	One      *view.Directive // the directive that is open; nil for none
	Live     []live.Event    // of the open directive, oldest first, the newest maxLive
	New      []live.Event    // of all directives at work: what came since the scene before
	Trouble  string          // why what is shown may be old; "" for nothing
	Dir      string          // of the host's repository, for commands; "" in a clone
	Clone    bool            // a clone knows what was fetched, and no words as they come
	Name     string          // of the open directive, "" for none
	NotThere bool            // there is no such directive
}

// typed is a command as it is typed where the reader is.
func (s Scene) typed(command string) string {
	if s.Clone || s.Dir == "" || command == "" {
		return command
	}
	return view.OnHost(command, s.Dir)
}

// maxLive is how many events are kept to be looked back at: an hour's worth of many words
// is in the transcript, and not in the memory of who looks.
const maxLive = 500

// state is what keys change.
type state struct {
	chosen string // directive that the keys are at
	facts  bool   // of the open directive, the facts in full and not the words
	help   bool
	back   int // lines that the view was scrolled from where it would stand by itself
}
