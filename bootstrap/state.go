package bootstrap

import (
	"errors"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"git-ward/bootstrap/notices"
	"git-ward/bootstrap/signals"
	"git-ward/bootstrap/statedir"
	"git-ward/bootstrap/trees"
)

// state is all that the watcher knows beyond refs and logs. It is written before
// what it says is done, so a watcher that is killed at any point goes on.
type state struct {
	Hop    *hop     `json:"hop,omitzero"`  // a signal that was taken and is not done
	Pin    *pin     `json:"pin,omitzero"`  // in place of main's tip
	Left   string   `json:"left,omitzero"` // where a rollback went, and main runs again
	Branch string   `json:"branch"`        // what ran last; its directory may go after main started
	Deaths deaths   `json:"deaths,omitzero"`
	Bad    []string `json:"bad,omitzero"` // programs of main that gave way, the newest last
	// Trial counts how often the probation of one program was begun, Proved are programs
	// that passed theirs, the newest last, and Unproved is main's, which did not and runs
	// because there is no other.
	Trial    deaths         `json:"trial,omitzero"`
	Proved   []string       `json:"proved,omitzero"`
	Unproved string         `json:"unproved,omitzero"`
	Trees    trees.Record   `json:",embed"`
	Notices  notices.Record `json:",embed"`
}

// hop is a signal on its way: to a branch, or back to a ref.
type hop struct {
	signals.Signal `json:",embed"`

	Commit   string `json:"commit,omitzero"`
	Main     string `json:"main,omitzero"`    // main's code when it was begun
	From     string `json:"from,omitzero"`    // main's commit then
	Attempts int    `json:"attempts"`         // begun, here and in containers before
	Started  bool   `json:"started"`          // BOOTSTRAPPING is written
	Counted  bool   `json:"counted,omitzero"` // the run that asked for it is a death until it has started
}

// pin holds main's tree at a commit until main's code moves (BOOT-4).
type pin struct {
	Ref      string `json:"ref"` // as asked for
	Commit   string `json:"commit"`
	Main     string `json:"main"`     // main's code when it was set
	Fallback bool   `json:"fallback"` // the watcher's own doing, because main does not hold
}

// stateFile is the state and the file that has it.
type stateFile struct {
	state
	dir *statedir.Dir
	log zerolog.Logger
}

const (
	stateName = "state.json"
	stateSize = 1 << 20 // bytes that are read
)

// loadState reads the state; one that cannot be read is none.
func loadState(dir *statedir.Dir, log zerolog.Logger) *stateFile {
	f := &stateFile{dir: dir, log: log}
	data, err := statedir.ReadRegular(dir.Own(stateName), stateSize)
	if err == nil {
		err = json.Unmarshal(data, &f.state, json.RejectUnknownMembers(true))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Error().Err(err).Msg("the state cannot be read; starting without")
		f.state = state{}
	}
	return f
}

// save writes the state. What cannot be written is logged and kept in memory: an
// agent that fills the disk must not stop its watcher.
func (f *stateFile) save() {
	data, err := json.Marshal(&f.state, jsontext.WithIndent("  "), json.Deterministic(true))
	if err == nil {
		err = f.dir.WriteOwn(stateName, data)
	}
	if err != nil {
		f.log.Error().Err(err).Msg("the state is not saved")
	}
}

// reset forgets what the watcher knows beyond refs and logs, and says what that was. What
// the PM has to be told yet is not forgotten.
func (w *watcher) reset() {
	s := &w.state.state
	var pinned, hopped string
	if s.Pin != nil {
		pinned = s.Pin.Ref + " " + s.Pin.Commit
	}
	if s.Hop != nil {
		hopped = s.Hop.Signal.String()
	}
	signals := w.signals.Clear()
	w.log.Info().Str("pin", pinned).Str("hop", hopped).Int("signals", signals).Int("incidents", len(s.Notices.Told)).
		Int("built", len(s.Trees.Built)).Msg("reset: this is forgotten; main is next")
	*s = state{Branch: s.Branch, Notices: notices.Record{Unsent: s.Notices.Unsent, Untold: s.Notices.Untold}}
	w.state.save()
}
