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

// launcherPath is the file with the name of a repository's launcher.
const launcherPath = "ward/launcher.json"

// launcher is that file's content. Several machines may share the repository's disk, and one
// machine's lock says nothing about another's processes, so the name belongs to one machine,
// identified by its machine id. It also belongs to one copy of the repository, identified by
// its directory's inode.
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

// newName is the host name, for people, and a random part.
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

// identity is a hash of the id in a file, "" for none: machine-id(5) asks not to disclose the
// id itself.
func identity(path string) string {
	data, err := os.ReadFile(path)
	text := strings.TrimSpace(string(data))
	if err != nil || text == "" || text == "uninitialized" {
		return ""
	}
	sum := sha256.Sum256([]byte("ward launcher " + text))
	return hex.EncodeToString(sum[:8])
}

// kube is the prefix of places whose workers outlive their launcher.
const kube = "kube "

// left reports whether a lease is a dead launcher's of this name. The launch lock proves that
// it is dead, and its workers have lost the sockets to this host. A Job, however, continues
// without its launcher.
func (b *Book) left(l lease.Lease) bool {
	return b.own(l) && (!strings.HasPrefix(l.Where, kube) || b.original(l))
}

// original reports whether, in a copy, a lease is the original's.
func (b *Book) original(l lease.Lease) bool {
	return b.Former != "" && strings.HasPrefix(l.Holder, b.Former+".")
}

// own reports whether a lease has this launcher's name but is not kept by it.
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
