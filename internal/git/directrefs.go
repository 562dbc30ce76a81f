package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"git-ward/internal/diag"
)

const (
	// maxPackedRefs is the largest packed-refs file that is searched from its start;
	// git searches a larger one faster.
	maxPackedRefs = 1 << 20
	// maxLooseRef is more than a ref's file has that holds an id.
	maxLooseRef = 64
)

// ref is the object id that a ref holds, or "" when it does not exist. With ok
// false, git has to be asked.
func (d *direct) ref(name string) (id string, ok bool, err error) {
	if !plainRef(name) {
		return "", false, nil
	}
	if id, err := d.looseRef(name); err == nil {
		return id, id != "", nil
	} else if info, err := os.Lstat(d.dir + "/" + name); err == nil && !info.IsDir() {
		return "", false, nil
	}
	// Nothing, or a directory in the way: git looks into packed-refs then, too.
	packed, ok, err := d.packedRefs()
	if !ok || err != nil {
		return "", false, err
	}
	end := bytes.Index(packed, []byte(" "+name+"\n"))
	if end < 0 {
		return "", true, nil
	}
	if end < 40 {
		return "", false, nil
	}
	id = string(packed[end-40 : end])
	return id, IsID(id), nil
}

// looseRef is the id in a ref's own file, "" where it holds something else.
func (d *direct) looseRef(name string) (id string, err error) {
	data, err := readRegular(d.dir+"/"+name, maxLooseRef)
	if id = strings.TrimSuffix(string(data), "\n"); err != nil || !IsID(id) || id == Zero {
		return "", err
	}
	return id, nil
}

// packedRefs is the file of that name, empty where there is none. With ok false, git has
// to be asked. It is read anew where another one is there, by what git goes by: git never
// writes to one that is there.
func (d *direct) packedRefs() (data []byte, ok bool, err error) {
	name := d.dir + "/packed-refs"
	var now syscall.Stat_t // before it is read: one that comes meanwhile is read again
	if err := syscall.Stat(name, &now); err == nil && sameFile(now, d.packedAt) {
		return d.packed, true, nil
	}
	data, err = readRegular(name, maxPackedRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if ok = len(data) <= maxPackedRefs; ok && err == nil {
		d.packed, d.packedAt = data, now
	}
	return data, ok, err
}

// sameFile reports whether two looks found one file with one content.
func sameFile(a, b syscall.Stat_t) bool {
	return a.Ino == b.Ino && a.Dev == b.Dev && a.Size == b.Size && a.Mtim == b.Mtim && a.Ctim == b.Ctim
}

// refs lists the refs below a prefix that ends in a slash, sorted by name. With ok false, git
// has to be asked. Loose refs go first, as git does it: one that is packed meanwhile is in
// packed-refs before its file goes.
func (d *direct) refs(prefix string) (tips []Tip, ok bool, err error) {
	if prefix != "refs/" && !plainRef(strings.TrimSuffix(prefix, "/")) || !strings.HasSuffix(prefix, "/") {
		return nil, false, nil
	}
	ids := map[string]string{}
	if !d.looseRefs(strings.TrimSuffix(prefix, "/"), ids) {
		return nil, false, nil
	}
	packed, ok, err := d.packedRefs()
	if !ok || err != nil {
		return nil, false, err
	}
	for line := range bytes.Lines(packed) {
		if line[0] == '#' || line[0] == '^' {
			continue
		}
		id, name, whole := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		if !whole || !IsID(id) || id == Zero {
			return nil, false, nil
		}
		if !strings.HasPrefix(name, prefix) || ids[name] != "" {
			continue
		}
		if !plainRef(name) {
			return nil, false, nil
		}
		ids[name] = id
	}
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		tips = append(tips, Tip{name, ids[name]})
	}
	return tips, true, nil
}

// looseRefs collects the refs in the files below a directory, and reports whether all of them
// are what they mostly are.
func (d *direct) looseRefs(dir string, ids map[string]string) bool {
	list, err := os.ReadDir(d.dir + "/" + dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range list {
		name := dir + "/" + e.Name()
		switch {
		case strings.HasSuffix(name, ".lock") || e.Name()[0] == '.': // as git skips them
		case !plainRef(name):
			return false
		case e.IsDir():
			if !d.looseRefs(name, ids) {
				return false
			}
		default:
			if id, err := d.looseRef(name); err == nil && id != "" {
				ids[name] = id
			} else if _, gone := os.Lstat(d.dir + "/" + name); !errors.Is(gone, fs.ErrNotExist) {
				return false
			}
		}
	}
	return true
}

// plainRef reports whether a full name of a ref, or of a directory of refs, is one that git
// takes, and has nothing in it that git would have to be asked about (git-check-ref-format(1)).
func plainRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") || strings.Contains(part, "..") ||
			strings.ContainsFunc(part, func(c rune) bool {
				return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.+", c)
			}) {
			return false
		}
	}
	return true
}

// OddRefs lists the refs whose own files hold no id, sorted: the broken ones, such as a file that
// lost its content when the machine did, and the symbolic ones with the ref that each names. Git
// passes over the former, and over symbolic refs that lead to nothing.
func (r *Repo) OddRefs() (broken []string, symbolic []Symbolic, err error) {
	err = filepath.WalkDir(filepath.Join(r.Dir, "refs"), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it was packed or deleted meanwhile
			return nil
		}
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".lock") || e.Name()[0] == '.' {
			return err
		}
		name, err := filepath.Rel(r.Dir, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		held, is, err := readRefFile(path)
		_, gone := os.Lstat(path)
		switch {
		case is:
			symbolic = append(symbolic, Symbolic{name, held})
		case (err != nil || !IsID(held) || held == Zero) && !errors.Is(gone, fs.ErrNotExist):
			broken = append(broken, name)
		}
		return nil
	})
	return broken, symbolic, err
}

// Leads is the ref that a symbolic one names, "" where a name is that of no symbolic ref.
func (r *Repo) Leads(name string) (to string, err error) {
	if path.Clean(name) != name || !strings.HasPrefix(name, "refs/") { // git takes no such name
		return "", nil
	}
	to, symbolic, err := readRefFile(filepath.Join(r.Dir, name))
	if !symbolic {
		to = ""
	}
	return to, passOver(err)
}

// OwnRef says how a symbolic ref becomes none, with a command that begins with git: it is then at the
// commit that it led to, or gone where it led to nothing.
func (r *Repo) OwnRef(ctx context.Context, git, name string) string {
	if at, err := r.Ref(ctx, name); err == nil && at == Zero {
		return "take the name away, which leads to nothing: " + git + " symbolic-ref --delete " + diag.Word(name)
	}
	return "make it a branch of its own: " + git + " update-ref --no-deref " + diag.Word(name) + " " + diag.Word(name)
}

// readRefFile is what the file of a ref, or HEAD, holds: the ref that it names where it is symbolic,
// else an id, mostly. A link of the file system is symbolic, too: git was satisfied with that once,
// and still follows it.
func readRefFile(file string) (held string, symbolic bool, err error) {
	info, err := os.Lstat(file)
	if err != nil || info.IsDir() {
		return "", false, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		held, err = os.Readlink(file)
		return held, err == nil, err
	}
	data, err := readRegular(file, maxNames)
	if err == nil && len(data) > maxNames {
		err = fmt.Errorf("%s is longer than any name of a ref", file)
	}
	if err != nil {
		return "", false, err
	}
	if to, is := bytes.CutPrefix(data, []byte("ref:")); is {
		return string(bytes.TrimSpace(to)), true, nil
	}
	return strings.TrimSuffix(string(data), "\n"), false, nil
}

// passOver is the error of a look at a ref's file, nil where the ref has none: it is packed, or it is
// not there.
func passOver(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	return err
}

// Symbolic is a symbolic ref and the ref that it names.
type Symbolic struct{ Name, To string }
