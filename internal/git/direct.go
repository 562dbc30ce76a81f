package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// direct reads loose objects and refs from their files (gitrepository-layout(5)),
// for the hooks: a pushed commit and what it changed are loose on arrival, and a
// file costs a hundredth of a child. What is not loose, git is asked for: packs,
// deltas, alternates and symbolic refs are its own business.
type direct struct {
	dir        string // $GIT_DIR
	quarantine string // where the pushed objects are; "" outside pre-receive
	inflate    io.ReadCloser
}

// directReader is nil outside hooks: a clone may be a linked work tree, with its
// refs elsewhere.
func (r *Repo) directReader() *direct {
	if !r.hook {
		return nil
	}
	return &direct{dir: r.Dir, quarantine: r.quarantineDir()}
}

// loose opens a loose object; ok is false when there is none of that id.
func (d *direct) loose(id string) (o Object, content *bufio.Reader, done func() error, ok bool, err error) {
	var f *os.File
	for _, objects := range []string{d.quarantine, d.dir + "/objects"} {
		if objects == "" {
			continue
		}
		if f, err = os.Open(loosePath(objects, id)); err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return o, nil, nil, false, err
		}
	}
	if err != nil {
		return o, nil, nil, false, nil
	}
	if d.inflate == nil {
		d.inflate, err = zlib.NewReader(f)
	} else {
		err = d.inflate.(zlib.Resetter).Reset(f, nil)
	}
	if err == nil {
		content = bufio.NewReader(d.inflate)
		o, err = looseHeader(id, content)
	}
	if err != nil {
		f.Close()
		return o, nil, nil, false, fmt.Errorf("loose object %s: %w: %w", id, ErrDamaged, err)
	}
	return o, content, f.Close, true, nil
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
	if !ok || err != nil {
		return o, false, err
	}
	return o, true, done()
}

func (d *direct) read(id string, limit int64) (Object, []byte, bool, error) {
	o, content, done, ok, err := d.loose(id)
	if !ok || err != nil {
		return o, nil, false, err
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

// maxPackedRefs is the largest packed-refs file that is searched from its start;
// git searches a larger one faster.
const maxPackedRefs = 1 << 20

// ref is the object id that a ref holds, or "" when it does not exist. With ok
// false, git has to be asked.
func (d *direct) ref(name string) (id string, ok bool, err error) {
	if strings.Contains(name, "..") {
		return "", false, nil
	}
	data, err := os.ReadFile(d.dir + "/" + name)
	if err == nil {
		id := strings.TrimSuffix(string(data), "\n")
		return id, IsID(id), nil
	}
	// ENOENT, or a directory in the way: git looks into packed-refs then, too.
	info, err := os.Stat(d.dir + "/packed-refs")
	if errors.Is(err, fs.ErrNotExist) {
		return "", true, nil
	}
	if err != nil || info.Size() > maxPackedRefs {
		return "", false, err
	}
	data, err = os.ReadFile(d.dir + "/packed-refs")
	if err != nil {
		return "", false, err
	}
	end := bytes.Index(data, []byte(" "+name+"\n"))
	if end < 0 {
		return "", true, nil
	}
	if end < 40 {
		return "", false, nil
	}
	id = string(data[end-40 : end])
	return id, IsID(id), nil
}
