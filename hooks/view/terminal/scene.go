// Package terminal shows a repository on a terminal while an agent works (SEE-1): what each directive waits
// for and by which command it continues, the worker's live events, the progress of verdicts, and the cost.
//
// A Scene is the data. Watch shows it in a terminal program, and Follow prints its changes as plain lines if
// there is no terminal. Nothing here changes the repository.
package terminal

import (
	"time"

	"git-ward/hooks/view"
	"git-ward/internal/live"
)

// Scene is the data at one time.
type Scene struct {
	Now      time.Time
	Over     *view.Overview  // nil before the first read
	One      *view.Directive // the directive that is open; nil for none
	Live     []live.Event    // of the open directive, oldest first, the newest maxLive
	New      []live.Event    // new since the last scene, of all directives in progress
	Trouble  string          // why the data may be old; "" if it is not
	Dir      string          // of the host's repository, for commands; "" in a clone
	Clone    bool            // the source is a clone, which has fetched data and no live events
	Name     string          // of the open directive, "" for none
	NotThere bool            // there is no such directive
}

// typed returns a command in the form for the reader's directory.
func (s Scene) typed(command string) string {
	if s.Clone || s.Dir == "" || command == "" {
		return command
	}
	return view.OnHost(command, s.Dir)
}

// maxLive bounds the events that a reader can scroll back to; the transcript has all.
const maxLive = 500

// state is the part of the view that keys change.
type state struct {
	chosen string // directive that the keys are at
	facts  bool   // of the open directive, the facts in full and not the words
	help   bool
	back   int // lines that the view was scrolled from where it would stand by itself
}
