package bootstrap

import (
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/atomicfile"
)

// state is all that the watcher knows beyond refs and logs. It is written before
// what it says is done, so a watcher that is killed at any point goes on.
type state struct {
	Hop    *hop              `json:"hop,omitzero"`    // a signal that was taken and is not done
	Pin    *pin              `json:"pin,omitzero"`    // in place of main's tip
	Branch string            `json:"branch"`          // what ran last; its folder may go after main started
	Built  map[string]tree   `json:"built,omitzero"`  // by branch
	Valid  []string          `json:"valid,omitzero"`  // code that passed validate, the newest last
	Told   map[string]string `json:"told,omitzero"`   // incidents that the PM knows of: kind -> code
	Unsent []notice          `json:"unsent,omitzero"` // what the PM has to be told
}

// tree is what a branch's folder holds since it was built.
type tree struct {
	Code   string `json:"code"`   // what it is built from
	Status string `json:"status"` // a hash of git's status: what the build left, unless ignored
}

// hop is a signal on its way: to a branch, or back to a ref.
type hop struct {
	Kind     string `json:"kind"` // of signal
	Name     string `json:"name"`
	Commit   string `json:"commit,omitzero"`
	Attempts int    `json:"attempts"` // begun
	Started  bool   `json:"started"`  // BOOTSTRAPPING is written, or about to be
}

// pin holds main's tree at a commit until main's code moves (BOOT-4).
type pin struct {
	Ref      string `json:"ref"` // as asked for
	Commit   string `json:"commit"`
	Main     string `json:"main"`     // main's code when it was set
	Fallback bool   `json:"fallback"` // the watcher's own doing, because main does not start
}

// kept bounds the lists.
const kept = 20

func (w *watcher) loadState() {
	data, err := readRegular(w.own("state.json"), 1<<20)
	if err == nil {
		err = json.Unmarshal(data, &w.state, json.RejectUnknownMembers(true))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Error().Err(err).Msg("the state cannot be read; starting without")
		w.state = state{}
	}
	if w.state.Built == nil {
		w.state.Built = map[string]tree{}
	}
	if w.state.Told == nil {
		w.state.Told = map[string]string{}
	}
}

// save writes the state. What cannot be written is logged and kept in memory: an
// agent that fills the disk must not stop its watcher.
func (w *watcher) save() {
	w.state.Valid = w.state.Valid[max(0, len(w.state.Valid)-kept):]
	w.state.Unsent = w.state.Unsent[max(0, len(w.state.Unsent)-kept):]
	data, err := json.Marshal(&w.state, jsontext.WithIndent("  "), json.Deterministic(true))
	if err == nil {
		err = atomicfile.Write(w.own("state.json"), data, 0o644)
	}
	if errors.Is(err, syscall.ENOSPC) && w.spare.release() {
		err = atomicfile.Write(w.own("state.json"), data, 0o644)
	}
	if err != nil {
		w.log.Error().Err(err).Msg("the state is not saved")
	}
}

func (w *watcher) validated(code string) bool { return slices.Contains(w.state.Valid, code) }
