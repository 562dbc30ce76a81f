package git

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// direct reads objects and refs from their files (gitrepository-layout(5)): reading a file costs
// a hundredth of a child. Git is asked for everything else: many packed objects, alternates of
// alternates, symbolic refs, and whatever looks odd.
type direct struct {
	dir        string   // $GIT_DIR
	objects    []string // where objects may be, the quarantine of a push first
	quarantine string   // "" outside pre-receive

	packs      []*pack // nil until needed
	packReads  int
	mostPacked int   // reads
	packWork   int64 // bytes

	packed   []byte // packed-refs as it was read last
	packedAt syscall.Stat_t
}

// directReader is nil where there is no repository, which git says, and where refs are
// elsewhere: in a linked work tree, or in another format.
func (r *Repo) directReader() *direct {
	for _, name := range []string{"HEAD", "refs"} {
		if _, err := os.Lstat(r.Dir + "/" + name); err != nil {
			return nil
		}
	}
	for _, name := range []string{"commondir", "reftable"} {
		if _, err := os.Lstat(r.Dir + "/" + name); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	own := cmp.Or(r.objects, r.Dir+"/objects")
	d := &direct{dir: r.Dir, mostPacked: maxPackReads, objects: append([]string{own}, borrowed(own)...)}
	if dir := r.quarantineDir(); dir != "" {
		d.objects, d.quarantine = slices.Insert(d.objects, 0, dir), dir
	}
	return d
}

// openRegular opens a regular file only: a pipe would block the reader, so other types count
// as missing.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// readRegular reads such a file; one that is longer than limit comes with a byte more than that.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), limit)) + bytes.MinRead) // packed-refs is read for each packed ref
	_, err = data.ReadFrom(io.LimitReader(f, limit+1))
	return data.Bytes(), err
}

// maxNames bounds HEAD, and the file that names directories of other objects, in bytes.
const maxNames = 4 << 10

// borrowed are the directories whose objects one has besides, those with plain absolute names
// (gitrepository-layout(5), objects/info/alternates). Git knows of others.
func borrowed(objects string) (dirs []string) {
	data, err := readRegular(objects+"/info/alternates", maxNames)
	if err != nil || len(data) > maxNames {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "/") {
			dirs = append(dirs, line)
		}
	}
	return dirs
}

// loose opens a loose object; ok is false when there is none of that id. Nobody reads the content
// after done.
func (d *direct) loose(id string) (o Object, content *bufio.Reader, done func() error, ok bool, err error) {
	if !IsID(id) { // it is a name that only git knows
		return o, nil, nil, false, nil
	}
	var f *os.File
	for _, objects := range d.objects {
		if f, err = openRegular(loosePath(objects, id)); err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return o, nil, nil, false, err
		}
	}
	if err != nil {
		return o, nil, nil, false, nil
	}
	z, err := newInflater(f)
	if err == nil {
		o, err = looseHeader(id, z.out)
	}
	done = func() error { z.done(); return f.Close() }
	if err != nil {
		done()
		return o, nil, nil, false, fmt.Errorf("loose object %s: %w: %w", id, ErrDamaged, err)
	}
	return o, z.out, done, true, nil
}

// looseHeader reads "<kind> <size>\0".
func looseHeader(id string, r *bufio.Reader) (Object, error) {
	head, err := r.Peek(32)
	if err != nil && !errors.Is(err, io.EOF) {
		return Object{}, err
	}
	text, _, ok := bytes.Cut(head, []byte{0})
	kind, size, ok2 := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(size, 10, 64)
	if !ok || !ok2 || err != nil || n < 0 || strconv.FormatInt(n, 10) != size {
		return Object{}, errors.New("broken header")
	}
	_, err = r.Discard(len(text) + 1)
	return Object{id, kind, n}, err
}

func (d *direct) info(id string) (Object, bool, error) {
	o, _, done, ok, err := d.loose(id)
	if err != nil {
		return o, false, err
	}
	if !ok {
		o, ok = d.packedInfo(id)
		return o, ok, nil
	}
	return o, true, done()
}

// others are the objects that reads of each would not find without a child: the loose ones go, and the
// packed ones as long as there may be so many reads.
func (d *direct) others(ids []string) (others []string) {
	var packed []string
	for _, id := range ids {
		_, _, done, loose, err := d.loose(id)
		if loose {
			done()
		}
		if loose || err != nil {
			continue
		}
		if p, _ := d.inPack(id); p != nil {
			packed = append(packed, id)
		} else {
			others = append(others, id)
		}
	}
	if len(packed) > d.mostPacked-d.packReads {
		others = append(others, packed...)
	}
	return others
}

func (d *direct) read(id string, limit int64) (Object, []byte, bool, error) {
	o, content, done, ok, err := d.loose(id)
	if err != nil {
		return o, nil, false, err
	}
	if !ok {
		return d.packedRead(id, limit)
	}
	defer done()
	if o.Size > limit {
		return o, nil, true, &TooLarge{o, limit}
	}
	data := make([]byte, o.Size)
	if _, err := io.ReadFull(content, data); err != nil {
		return o, nil, true, fmt.Errorf("loose object %s: %w: %w", id, ErrDamaged, err)
	}
	if n, err := content.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return o, nil, true, fmt.Errorf("loose object %s: %w: it is longer than it says", id, ErrDamaged)
	}
	return o, data, true, nil
}

// find is the id that a name stands for: one, or a full ref, as it is, with ^{commit} or
// ^{tree} behind it, or with a colon and a path (gitrevisions(7)); "" where a ref or a path is
// not there. With ok false, git has to be asked.
func (d *direct) find(name string) (id string, ok bool, err error) {
	base, path, inTree := strings.Cut(name, ":")
	base, kind, peeled := strings.Cut(base, "^")
	if id, ok = base, true; base == Zero {
		return "", true, nil
	}
	if base == "HEAD" {
		if base, _, err = readRefFile(d.dir + "/HEAD"); err != nil {
			return "", false, err
		}
	}
	if !IsID(base) {
		if id, ok, err = d.ref(base); !ok || err != nil || id == "" {
			return id, ok, err
		}
	}
	switch {
	case !peeled && !inTree:
		return id, true, nil
	case peeled && kind != "{commit}" && kind != "{tree}" || inTree && kind == "{commit}":
		return "", false, nil
	case kind == "{commit}":
		o, ok, err := d.info(id)
		return id, ok && o.Kind == "commit", err
	}
	if id, ok, err = d.treeOf(id); !ok || err != nil || !inTree {
		return id, ok, err
	}
	return d.below(id, path)
}

// treeOf is the tree of a commit, or the tree itself.
func (d *direct) treeOf(id string) (tree string, ok bool, err error) {
	o, ok, err := d.info(id)
	if !ok || err != nil || o.Kind == "tree" {
		return id, ok, err
	}
	if o.Kind != "commit" {
		return "", false, nil
	}
	_, data, ok, err := d.read(id, maxCommit)
	if !ok || err != nil {
		return "", false, nil
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	tree, ok = strings.CutPrefix(string(line), "tree ")
	return tree, ok && IsID(tree), nil
}

// below is the id of what a tree has at a path, "" where it has nothing there.
func (d *direct) below(tree, path string) (id string, ok bool, err error) {
	name, rest, deeper := strings.Cut(path, "/")
	if name == "" || name == "." || name == ".." || deeper && rest == "" {
		return "", false, nil
	}
	o, data, ok, err := d.read(tree, maxTree)
	if !ok || err != nil || o.Kind != "tree" {
		return "", false, nil
	}
	entries, err := ParseTree(data)
	if err != nil {
		return "", false, nil // git says what it makes of it
	}
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
	switch {
	case i < 0 || deeper && !entries[i].IsDir():
		return "", true, nil
	case deeper:
		return d.below(entries[i].ID, rest)
	}
	return entries[i].ID, true, nil
}

// orPacked asks git for a damaged loose object, because git may have another copy in a pack.
// It uses a child of its own, because git exits if it has none.
func (b *Batch) orPacked(o Object, err error, ask func(git *Batch) (Object, error)) (Object, error) {
	if !errors.Is(err, ErrDamaged) {
		return o, err
	}
	git := &Batch{ctx: b.ctx, repo: b.repo}
	defer git.Close()
	if packed, no := ask(git); no == nil {
		return packed, nil
	}
	return o, err
}
