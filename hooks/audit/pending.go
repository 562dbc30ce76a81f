package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/hooks/push"
	"git-ward/internal/atomicfile"
	"git-ward/internal/git"
)

// Pending is a push under way: pre-receive writes its file on arrival, says there
// whether it was admitted, and post-receive takes it away with the record. What a
// hook that was killed leaves, the next push records.
type Pending struct {
	Entry
	State State `json:"state,omitempty"`
	// Hook is pre-receive itself; Process is the receive-pack that it works for, and
	// none where a server runs the hooks.
	Hook    Process `json:"hook,omitzero"`
	Process Process `json:"process,omitzero"`
	// Transport is what the transport says about the session, hashed: it tells two
	// pushes of the same moves apart that a server runs.
	Transport string `json:"transport,omitempty"`
	// Since is the tip of the chain when the push arrived, and then when it was
	// admitted: its record, when there is one, comes after it.
	Since string `json:"since"`
	// Reflogs is the size of each ref's reflog then: its move, when it was made,
	// stands after it.
	Reflogs map[string]int64 `json:"reflogs"`

	path    string
	written time.Time
}

// State is how far a push came.
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

// over reports whether nobody works on the push any more; made says that all its
// refs have moved.
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

func pendingDir(repo *git.Repo) string { return filepath.Join(repo.Dir, "ward", "pending") }

// asideDir is where files go that cannot be read.
func asideDir(repo *git.Repo) string { return filepath.Join(repo.Dir, "ward", "aside") }

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
		if err == nil {
			err = os.Rename(temporary, path)
		}
		return err
	})
}

// Admit says in the pending file that the push was admitted and git may move its
// refs, and what its record will be. ReceivePack is who moves them.
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
	// After the reflogs: who moved before them and is recorded by now is neither in
	// what follows the one nor in what follows the other.
	if p.Since, err = tip(batch); err != nil {
		return err
	}
	return p.write(func(path string, data []byte) error {
		return atomicfile.Write(path, data, fileMode(filepath.Dir(path)))
	})
}

// Reject says in the pending file that the push was refused, for the case that its
// record cannot be made now.
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

// ownMode is the mode of files that nobody but the owner reads.
const ownMode fs.FileMode = 0o600

// fileMode is the mode of a file in a folder of ward/: where several users push
// (ID-3), the folder is their group's, and each must be able to go on with what
// another one left.
func fileMode(dir string) fs.FileMode {
	if info, err := os.Stat(dir); err == nil && info.Mode()&0o020 != 0 {
		return ownMode | 0o060
	}
	return ownMode
}

func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// LoadPending reads the pending pushes, and names the files that cannot be read:
// each may be the only trace of a push, and none holds up the others.
func LoadPending(repo *git.Repo) (all []*Pending, broken []string, err error) {
	dir, err := os.Open(pendingDir(repo))
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxPendingFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	slices.Sort(names) // by time: that is how push ids begin
	for _, name := range names {
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".json") {
			sweep(filepath.Join(pendingDir(repo), name))
			continue
		}
		p, err := readPending(filepath.Join(pendingDir(repo), name))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			// its post-receive was faster, or it is another user's
		case err != nil:
			broken = append(broken, name)
		default:
			all = append(all, p)
		}
	}
	return all, broken, nil
}

// UnderWay names the refs that pushes which are judged now, or were admitted, make or
// move, as git names them: those of all pushes but one. A deletion makes nothing, and
// what the agent has no right to make holds up nobody.
func UnderWay(repo *git.Repo, batch *git.Batch, but string) (names []string, err error) {
	all, _, err := LoadPending(repo)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Record.Push == but || p.State == Rejected || p.Over(repo, batch) {
			continue
		}
		for _, ref := range p.Record.Refs {
			name := UnquoteRef(ref.Ref)
			if ref.New != git.Zero && (p.Record.Principal != string(push.Agent) || push.IsAgentBranch(name)) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// sweep removes the temporary file of a writer that was killed long ago.
func sweep(path string) {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Hour {
		os.Remove(path)
	}
}

func readPending(path string) (*Pending, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPending {
		return nil, errors.New("not a file of a push")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &Pending{path: path, written: info.ModTime()}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, err
	}
	if p.Record == nil || p.Record.Push+".json" != filepath.Base(path) ||
		!slices.Contains([]State{Admitted, Arrived, Rejected}, p.State) {
		return nil, errors.New("not the record of its push")
	}
	return p, nil
}

// SetAside moves a broken pending file to ward/aside, where git ward fsck names it.
func SetAside(repo *git.Repo, name string) error {
	if err := os.Mkdir(asideDir(repo), 0o700); err == nil && fileMode(pendingDir(repo)) != ownMode {
		os.Chmod(asideDir(repo), 0o770|fs.ModeSetgid)
	} else if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	from, to := filepath.Join(pendingDir(repo), name), filepath.Join(asideDir(repo), name)
	for n := 1; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil { // the folder is none, or another user's
			return err
		}
		to = filepath.Join(asideDir(repo), fmt.Sprintf("%s.%d", name, n))
	}
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else was faster
	}
	return err
}

// maxAside is how many files that were set aside are named.
const maxAside = 1000

// Aside names the files that were set aside.
func Aside(repo *git.Repo) ([]string, error) {
	dir, err := os.Open(asideDir(repo))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxAside)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}
