package interaction

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/atomicfile"
	"git-ward/protocols/uow"
)

// Sign is the last sign of life of who works on an iteration: what it has used that the
// journal does not say yet. A run that is killed leaves it behind, and the next one books
// it: calls and seconds of killed runs count (PLAN-10).
type Sign struct {
	Unit      string `json:"unit"`
	Iteration int64  `json:"iteration"` // number in the journal, from 1
	Record    string `json:"record"`    // hash of the journal's newest record when it began
	Calls     int    `json:"calls"`
	Seconds   int    `json:"seconds"` // of uninterrupted work
}

// signFile is the sign's name in the agent's state directory.
const signFile = "iteration.json"

// maxSign bounds the file, in bytes.
const maxSign = 4 << 10

// Write stores the sign in the agent's own directory. If it is lost, at most the use since the
// last one is lost, so failures are ignored.
func (s Sign) Write(state string) {
	if data, err := json.Marshal(s); err == nil {
		atomicfile.Write(filepath.Join(state, signFile), data, 0o600)
	}
}

// Lost is what a killed run used in the journal's present iteration and did not record there.
// Its calls count only if the agent has made no step since, and its seconds only if nobody has,
// because otherwise the journal's own times cover them.
func Lost(state string, journal []*uow.Record) Sign {
	var s Sign
	data, err := os.ReadFile(filepath.Join(state, signFile))
	if err != nil || len(data) > maxSign || json.Unmarshal(data, &s) != nil || len(journal) == 0 {
		return Sign{}
	}
	last := journal[len(journal)-1]
	at := slices.IndexFunc(journal, func(r *uow.Record) bool { return r.Hash == s.Record })
	if s.Unit != last.ID || s.Iteration != last.Iteration || at < 0 || s.Calls < 0 || s.Seconds < 0 {
		return Sign{}
	}
	after := journal[at+1:]
	if slices.ContainsFunc(after, func(r *uow.Record) bool { return r.Actor == uow.Agent }) {
		return Sign{}
	}
	if len(after) > 0 {
		s.Seconds = 0
	}
	return s
}

// Since is the sign of a run that goes on after what was lost.
func (s Sign) Since(began time.Time, now time.Time, calls int) Sign {
	s.Calls += calls
	s.Seconds += max(0, int(now.Sub(began)/time.Second))
	return s
}
