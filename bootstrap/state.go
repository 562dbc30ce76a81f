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

// state is everything that the watcher knows and that is not in refs and logs. It is saved before it is
// acted on, so that a watcher that was killed at any point can continue.
type state struct {
	Hop    *hop     `json:"hop,omitzero"`  // an accepted signal that is not done yet
	Pin    *pin     `json:"pin,omitzero"`  // runs instead of main's tip
	Left   string   `json:"left,omitzero"` // the commit of a rollback that has ended
	Branch string   `json:"branch"`        // what ran last; its tree can be removed after main has started
	Deaths deaths   `json:"deaths,omitzero"`
	Bad    []string `json:"bad,omitzero"` // programs of main that gave way, the newest last
	// Trial counts how often the probation of one program was begun. Proved has the programs that
	// passed, newest last. Unproved is main's program, if it failed but runs for lack of another.
	Trial    deaths         `json:"trial,omitzero"`
	Proved   []string       `json:"proved,omitzero"`
	Unproved string         `json:"unproved,omitzero"`
	Trees    trees.Record   `json:",embed"`
	Notices  notices.Record `json:",embed"`
}

// hop is an accepted signal: a start from a branch, or a rollback to a ref.
type hop struct {
	signals.Signal `json:",embed"`

	Commit   string `json:"commit,omitzero"`
	Main     string `json:"main,omitzero"`    // main's code when the hop began
	From     string `json:"from,omitzero"`    // main's commit when the hop began
	Attempts int    `json:"attempts"`         // the number of starts, earlier containers included
	Started  bool   `json:"started"`          // the log has BOOTSTRAPPING
	Counted  bool   `json:"counted,omitzero"` // the run that requested it counts as a death until the hop has started
}

// pin holds main's tree at a commit until main's code moves (BOOT-4).
type pin struct {
	Ref      string `json:"ref"` // as asked for
	Commit   string `json:"commit"`
	Main     string `json:"main"`     // main's code when it was set
	Fallback bool   `json:"fallback"` // set by the watcher, because main's program failed
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

// loadState reads the state; an unreadable file counts as an empty state.
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

// save writes the state. An error is only logged, and the state stays in memory, because an agent that fills
// the disk must not stop its watcher.
func (f *stateFile) save() {
	data, err := json.Marshal(&f.state, jsontext.WithIndent("  "), json.Deterministic(true))
	if err == nil {
		err = f.dir.WriteOwn(stateName, data)
	}
	if err != nil {
		f.log.Error().Err(err).Msg("the state is not saved")
	}
}

// reset deletes the state and says what it was. It keeps the notices that the PM has not been told yet.
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
