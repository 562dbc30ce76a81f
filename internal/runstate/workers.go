package runstate

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/token"
)

// WorkersDir is the launcher's directory of its workers' states, one file a worker, relative
// to the repository.
const WorkersDir = "ward/workers"

// maxWorkers bounds how many files of workers are read.
const maxWorkers = 1000

// Worker is the state of one worker, as the launcher recorded it (MANY-1). The lease's ref,
// not this file, says which directive it may work on.
type Worker struct {
	Holder    string    `json:"holder"`    // the launcher's name, a dot, and the worker's number
	Directive string    `json:"directive"` // "" while it has none
	Lease     string    `json:"lease"`     // the lease's id; "" while it has none
	Where     string    `json:"where"`     // "podman", "process", "kube NAMESPACE/JOB"
	PID       int       `json:"pid"`       // the launcher's
	Since     time.Time `json:"since"`     // working as intended
	State     string    `json:"state"`     // the worker's directory on this host; "" for none
	Container string    `json:"container"` // its id; "" while there is none
	Gateway   string    `json:"gateway"`   // the socket of its way to the models
	Doing     string    `json:"doing"`     // one of the constants
	Why       string    `json:"why"`       // of Restarts and Stopped: one line with the remedy, cleaned
}

// The states of a worker.
const (
	Works    = "works"    // its payload runs
	Starts   = "starts"   // its payload is about to run
	Restarts = "restarts" // its payload ended unexpectedly, and is restarted after a pause
	Stopped  = "stopped"  // somebody stopped it
)

// Number is the worker's number, from 1; 0 if its holder's name has none.
func (w Worker) Number() int {
	n, _ := strconv.Atoi(w.Holder[strings.LastIndexByte(w.Holder, '.')+1:])
	return n
}

// Workers returns the running launcher's workers in the order of their numbers; none when no
// launcher runs. It skips files that are not a worker's.
func Workers(bare string) (list []Worker) {
	if _, running := Running(bare); !running {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Join(bare, WorkersDir)) // in order of names
	for _, e := range entries[:min(len(entries), maxWorkers)] {
		if w, ok := told(bare, e); ok {
			w.Where, w.Why = diag.Clean(w.Where), diag.Clean(w.Why)
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b Worker) int {
		return cmp.Or(a.Number()-b.Number(), strings.Compare(a.Holder, b.Holder))
	})
	return list
}

// told reads a file of WorkersDir; false for a malformed one.
func told(bare string, e fs.DirEntry) (w Worker, ok bool) {
	name, ok := strings.CutSuffix(e.Name(), ".json")
	ok = ok && e.Type().IsRegular() && read(bare, filepath.Join(WorkersDir, e.Name()), &w) && w.Holder == name
	return w, ok
}

// Tell records a worker's state. Its holder must pass token.CheckName.
func (w Worker) Tell(bare string) error {
	if err := token.CheckName(w.Holder); err != nil {
		return err
	}
	dir := filepath.Join(bare, WorkersDir)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return write(bare, filepath.Join(WorkersDir, w.Holder+".json"), w)
}

// Forget removes a worker's file.
func (w Worker) Forget(bare string) {
	if token.CheckName(w.Holder) == nil {
		os.Remove(filepath.Join(bare, WorkersDir, w.Holder+".json"))
	}
}

// ForgetWorkers removes the files of an earlier launch, half-written ones included. Other
// files in the directory stay.
func ForgetWorkers(bare string) {
	root, err := os.OpenRoot(bare)
	if err != nil {
		return
	}
	defer root.Close()
	entries, _ := fs.ReadDir(root.FS(), WorkersDir)
	for _, e := range entries {
		half := strings.HasSuffix(atomicfile.Unfinished(e.Name()), ".json") && e.Type().IsRegular()
		if _, ok := told(bare, e); ok || half {
			root.Remove(filepath.Join(WorkersDir, e.Name()))
		}
	}
	root.Remove(WorkersDir) // unless it has other files
}
