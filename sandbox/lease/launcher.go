package lease

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/token"
	"git-ward/protocols/lease"
	"golang.org/x/sys/unix"
)

// launcherPath is where a repository's launcher keeps its name.
const launcherPath = "ward/launcher.json"

// launcher is that file. A repository may lie on a disk that several machines see, and a
// lock of one of them says nothing of another's processes: the name is of one machine, known
// by what its system or its kernel calls itself. A copy of the repository is another one, too:
// its directory has another inode.
type launcher struct {
	Name    string `json:"name"`
	Machine string `json:"machine"` // "" where the system has no name
	Boot    string `json:"boot"`
	Inode   uint64 `json:"inode"` // of the repository's directory
}

// LauncherName is the name under which this machine's launcher takes leases in a repository;
// its workers are that, a dot and a number. It is kept over restarts, so that what a killed
// launcher held is known for its own. Call it with the launch lock. In a
// copy, former is the original's name: nobody works by its leases there.
func LauncherName(bare string) (name, former string, err error) {
	path := filepath.Join(bare, launcherPath)
	here := launcher{Machine: identity("/etc/machine-id"), Boot: identity("/proc/sys/kernel/random/boot_id"), Inode: inode(bare)}
	var was launcher
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	same := err == nil && json.Unmarshal(data, &was) == nil && token.CheckName(was.Name) == nil &&
		(was.Machine != "" && was.Machine == here.Machine || was.Boot != "" && was.Boot == here.Boot)
	if same && was.Inode != 0 && was.Inode != here.Inode {
		former, same = was.Name, false
	}
	if was == (launcher{was.Name, here.Machine, here.Boot, here.Inode}) && same {
		return was.Name, "", nil
	}
	if here.Name = was.Name; !same {
		here.Name = newName()
	}
	if data, err = json.Marshal(here); err != nil {
		return "", "", err
	}
	return here.Name, former, atomicfile.Write(path, append(data, '\n'), 0o600)
}

// inode is a directory's, 0 for none.
func inode(dir string) uint64 {
	var st unix.Stat_t
	unix.Stat(dir, &st)
	return st.Ino
}

// newName is the host's name for people, and a random rest that makes it this one's.
func newName() string {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, host)
	if host = strings.Trim(host[:min(len(host), 40)], "-"); host == "" {
		host = "host"
	}
	var rest [4]byte
	rand.Read(rest[:])
	return fmt.Sprintf("%s-%x", host, rest)
}

// identity is the digest of what a file calls this machine, "" for nothing: machine-id(5)
// asks not to be told to others.
func identity(path string) string {
	data, err := os.ReadFile(path)
	text := strings.TrimSpace(string(data))
	if err != nil || text == "" || text == "uninitialized" {
		return ""
	}
	sum := sha256.Sum256([]byte("ward launcher " + text))
	return hex.EncodeToString(sum[:8])
}

// kube begins the place of a worker that does not end with its launcher.
const kube = "kube "

// left reports whether a lease is one that a killed launcher of this name left. The launch
// lock says that it is dead, and with it are the sockets by which its workers reached this
// host; a Job goes on without its launcher.
func (b *Book) left(l lease.Lease) bool {
	return b.own(l) && (!strings.HasPrefix(l.Where, kube) || b.original(l))
}

// original reports whether a lease is one of the original's, in a copy.
func (b *Book) original(l lease.Lease) bool {
	return b.Former != "" && strings.HasPrefix(l.Holder, b.Former+".")
}

// own reports whether a lease has this launcher's name, and is none that it keeps.
func (b *Book) own(l lease.Lease) bool {
	return (b.original(l) || b.Launcher != "" && strings.HasPrefix(l.Holder, b.Launcher+".")) && !b.keeps(l)
}

// Reclaim frees what a killed launcher of this name left, and lists what of it goes on
// without a launcher: those are the caller's to end, and to release.
func (b *Book) Reclaim(ctx context.Context) (running []lease.Lease, err error) {
	all, err := b.all(ctx)
	for _, e := range all {
		switch {
		case e.err != nil || !b.own(e.lease):
		case b.left(e.lease):
			err = errors.Join(err, b.Release(ctx, e.lease))
		default:
			running = append(running, e.lease)
		}
	}
	return running, err
}
