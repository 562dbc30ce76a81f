package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/internal/atomicfile"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
)

// Pending is a push under way. Pre-receive writes its file on arrival and notes there whether
// the push was admitted; post-receive removes it when it writes the record. If a hook was
// killed, the next push writes the record.
type Pending struct {
	Entry
	State State `json:"state,omitempty"`
	// Hook is the pre-receive process; Process is its receive-pack, none if a server runs the
	// hooks.
	Hook    Process `json:"hook,omitzero"`
	Process Process `json:"process,omitzero"`
	// Transport is a hash of the transport's session data: it tells two pushes of the same
	// moves through a server apart.
	Transport string `json:"transport,omitempty"`
	// Since is the chain's tip when the push arrived, later when it was admitted: its record,
	// if any, comes after it.
	Since string `json:"since"`
	// Reflogs are the refs' reflog sizes at that time: the push's moves come after them.
	Reflogs map[string]int64 `json:"reflogs"`

	path    string
	written time.Time
}

// State is the progress of a push.
type State string

// The states. A push that has arrived moves no ref, whatever happens to its hook; one
// that is refused waits for its record only. Admitted is also what files of versions
// before this one stand for, which say nothing.
const (
	Arrived  State = "arrived"
	Rejected State = "refused"
	Admitted State = ""
)

// What a push that a server runs may take after its admission, by its file's age:
// nobody can see a server's work end. A move that was made is recorded by another
// push after the first, a push that made none counts as lost after the second.
const (
	settleAfter = 30 * time.Second
	loseAfter   = 10 * time.Minute
)

// over reports whether the push's processes have ended; made says that all its refs have
// moved.
func (p *Pending) over(made func() bool) bool {
	switch {
	case p.State != Admitted:
		return !p.Hook.Alive()
	case p.Process != (Process{}):
		return !p.Process.Alive()
	}
	age := time.Since(p.written)
	return age > loseAfter || age > settleAfter && made()
}

// Arrive writes the pending file of a push that is about to be judged; from then on
// the push leaves a record, even when the hook is killed. It is not forced to the
// disk: after a crash of the machine no ref has moved.
func Arrive(repo *git.Repo, batch *git.Batch, e Entry, hook Process) (*Pending, error) {
	since, err := tip(batch)
	if err != nil {
		return nil, err
	}
	p := &Pending{Entry: e, State: Arrived, Hook: hook, Since: since}
	p.path = filepath.Join(pendingDir(repo), e.Record.Push+".json")
	if _, err := os.Lstat(p.path); err == nil {
		return nil, fmt.Errorf("a push %s is under way already", e.Record.Push)
	}
	return p, p.write(func(path string, data []byte) error {
		temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
		mode := fileMode(filepath.Dir(path))
		err := os.WriteFile(temporary, data, mode)
		if err == nil && mode != ownMode { // whatever the umask is
			err = os.Chmod(temporary, mode)
		}
		failpoint.Reach("audit/half-pending")
		if err == nil {
			err = os.Rename(temporary, path)
		}
		return err
	})
}

// Admit notes in the pending file that the push was admitted, so git may move its refs, with
// the future record. ReceivePack is the process that moves them.
func (p *Pending) Admit(repo *git.Repo, batch *git.Batch, e Entry, receivePack Process, transport string) (err error) {
	p.Entry, p.State, p.Process, p.Transport = e, Admitted, receivePack, transport
	p.Reflogs = map[string]int64{}
	for _, ref := range e.Record.Refs {
		size, err := reflogSize(repo, ref.Ref)
		if err != nil {
			return err
		}
		if size > 0 {
			p.Reflogs[ref.Ref] = size
		}
	}
	// After the reflogs: a push that moved before them and is recorded by now is in neither
	// range.
	if p.Since, err = tip(batch); err != nil {
		return err
	}
	return p.write(func(path string, data []byte) error {
		return atomicfile.Write(path, data, fileMode(filepath.Dir(path)))
	})
}

// Reject notes in the pending file that the push was refused, in case its record cannot be
// written now.
func (p *Pending) Reject() error {
	p.State = Rejected
	return p.write(func(path string, data []byte) error {
		return atomicfile.Write(path, data, fileMode(filepath.Dir(path)))
	})
}

func (p *Pending) write(put func(path string, data []byte) error) error {
	p.Record.fit()
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if len(data) > maxPending {
		return fmt.Errorf("the pending file of push %s would have %d bytes, more than %d", p.Record.Push, len(data), maxPending)
	}
	return put(p.path, data)
}
