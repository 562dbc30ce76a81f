package git

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
)

// A directive reads a few objects some dozen times, and most objects are packed. To read one here
// costs a hundredth of a child. A reader of many starts the child, which keeps the bases of deltas.

const (
	// maxPackReads is how many packed objects one reader reads without a child.
	maxPackReads = 200
	// maxPacks is how many packs of one directory are looked into.
	maxPacks = 10
	// maxDeltas is how many deltas one object may need, maxPacked the largest content, of an
	// object, a delta or a base, and maxPackWork all that one reader inflates and copies, in bytes.
	// Who pushes a pack chooses its deltas.
	maxDeltas   = 64
	maxPacked   = 1 << 20
	maxPackWork = 16 << 20
)

// errPack means that a pack has something that only git makes out.
var errPack = errors.New("git is to read it")

// pack is an open pack with its index of version 2 (gitformat-pack(5)).
type pack struct {
	index, data *os.File
	size        int64
	fan         [256]uint32 // how many names begin with a byte up to this one
}

const (
	packHead  = "\xfftOc\x00\x00\x00\x02"
	packNames = len(packHead) + 256*4
	// atOnce is how many names of an index are read with one call: some 4 KiB, a page.
	atOnce = 200
)

// openPacks opens the packs of a directory of objects; none where there are too many.
func openPacks(objects string) (packs []*pack) {
	list, err := os.ReadDir(objects + "/pack")
	if err != nil {
		return nil
	}
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), ".idx")
		if !ok {
			continue
		}
		if len(packs) == maxPacks {
			closePacks(packs)
			return nil
		}
		if p := openPack(objects + "/pack/" + name); p != nil {
			packs = append(packs, p)
		}
	}
	return packs
}

func closePacks(packs []*pack) {
	for _, p := range packs {
		p.close()
	}
}

func (p *pack) close() {
	for _, f := range []*os.File{p.index, p.data} {
		if f != nil {
			f.Close()
		}
	}
}

// openPack is nil where a pack is not what git mostly writes.
func openPack(name string) *pack {
	p := new(pack)
	var err error
	if p.index, err = openRegular(name + ".idx"); err == nil {
		p.data, err = openRegular(name + ".pack")
	}
	var head [packNames]byte
	if err == nil {
		_, err = p.index.ReadAt(head[:], 0)
	}
	for i := range p.fan {
		p.fan[i] = binary.BigEndian.Uint32(head[len(packHead)+4*i:])
	}
	if err == nil {
		var info os.FileInfo
		if info, err = p.data.Stat(); err == nil {
			p.size = info.Size()
		}
	}
	if err != nil || string(head[:len(packHead)]) != packHead || !slices.IsSorted(p.fan[:]) {
		p.close()
		return nil
	}
	return p
}

// count is how many objects the pack has.
func (p *pack) count() int64 { return int64(p.fan[255]) }

// find is where an object begins in the pack; below 0: it is not there.
func (p *pack) find(id []byte) (int64, error) {
	var low, high int64 = 0, int64(p.fan[id[0]])
	if id[0] > 0 {
		low = int64(p.fan[id[0]-1])
	}
	for low < high {
		first, n := low, high-low
		if n > atOnce {
			first, n = low+n/2, 1
		}
		names := make([]byte, n*idLen)
		if _, err := p.index.ReadAt(names, int64(packNames)+first*idLen); err != nil {
			return -1, err
		}
		i, found := sort.Find(int(n), func(i int) int { return bytes.Compare(id, names[i*idLen:(i+1)*idLen]) })
		switch {
		case found:
			return p.offset(first + int64(i))
		case n == high-low:
			return -1, nil
		case i == 0:
			high = first
		default:
			low = first + 1
		}
	}
	return -1, nil
}

// offset is where the object of a number begins: in four bytes, or in eight that those point to.
func (p *pack) offset(number int64) (int64, error) {
	var at [8]byte
	four := int64(packNames) + p.count()*(idLen+4)
	if _, err := p.index.ReadAt(at[:4], four+4*number); err != nil {
		return -1, err
	}
	const far = 1 << 31
	n := int64(binary.BigEndian.Uint32(at[:4]))
	if n < far {
		return n, nil
	}
	if _, err := p.index.ReadAt(at[:], four+4*p.count()+8*(n-far)); err != nil {
		return -1, err
	}
	n = int64(binary.BigEndian.Uint64(at[:]))
	if n < 0 {
		return -1, errPack
	}
	return n, nil
}

// packed is what a pack has at an offset: the content of an object, or a delta and its base.
type packed struct {
	kind    string // "" for a delta
	size    int64
	base    int64 // of a delta
	content int64 // where it begins
}

var packKinds = map[byte]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}

func (p *pack) entry(at int64) (e packed, err error) {
	var head [32 + idLen]byte
	n, err := p.data.ReadAt(head[:], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return e, err
	}
	r := bytes.NewReader(head[:n])
	c, err := r.ReadByte()
	kind := c >> 4 & 7
	e.size = int64(c & 15)
	for shift := 4; err == nil && c&0x80 != 0; shift += 7 {
		if shift > 32 { // far more than maxPacked
			return e, errPack
		}
		c, err = r.ReadByte()
		e.size |= int64(c&0x7f) << shift
	}
	if err != nil {
		return e, err
	}
	e.kind = packKinds[kind]
	switch kind {
	case 6: // the base is so many bytes before
		var back int64
		if c, err = r.ReadByte(); err != nil {
			return e, err
		}
		for back = int64(c & 0x7f); c&0x80 != 0; back = (back+1)<<7 | int64(c&0x7f) {
			if c, err = r.ReadByte(); err != nil || back > p.size {
				return e, errPack
			}
		}
		if e.base = at - back; back <= 0 || e.base < 0 {
			return e, errPack
		}
	case 7: // the base by its id, in the same pack
		var id [idLen]byte
		if _, err = io.ReadFull(r, id[:]); err == nil {
			e.base, err = p.find(id[:])
		}
		if err != nil || e.base < 0 {
			return e, errPack
		}
	default:
		if e.kind == "" {
			return e, errPack
		}
	}
	e.content = at + int64(n) - int64(r.Len())
	return e, nil
}

// inflate reads the first bytes of an entry's content, at most limit of them. The whole has the
// length that it says.
func (p *pack) inflate(e packed, limit int64) ([]byte, error) {
	z, err := newInflater(io.NewSectionReader(p.data, e.content, p.size-e.content))
	defer z.done()
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(e.size, limit))
	if _, err = io.ReadFull(z.out, data); err != nil || e.size > limit {
		return data, err
	}
	if n, err := z.out.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, errPack
	}
	return data, nil
}

// info is the kind and the size of what begins there.
func (p *pack) info(at int64) (kind string, size int64, err error) {
	e, err := p.entry(at)
	if err == nil && e.kind == "" { // a delta begins with both sizes
		var head []byte
		if head, err = p.inflate(e, 20); err == nil {
			_, n := binary.Uvarint(head)
			result, m := binary.Uvarint(head[max(n, 0):])
			if size = int64(result); n <= 0 || m <= 0 || size < 0 {
				err = errPack
			}
		}
	} else {
		size = e.size
	}
	for deltas := 0; err == nil && e.kind == ""; deltas++ {
		if deltas == maxDeltas {
			return "", 0, errPack
		}
		e, err = p.entry(e.base)
	}
	return e.kind, size, err
}

// read is the content of what begins there, and how many bytes were inflated and copied for it, at
// most so many.
func (p *pack) read(at, most int64) (data []byte, work int64, err error) {
	var deltas []packed
	for {
		e, err := p.entry(at)
		if err != nil || e.size > maxPacked || len(deltas) > maxDeltas {
			return nil, 0, errors.Join(err, errPack)
		}
		deltas = append(deltas, e)
		if e.kind != "" {
			break
		}
		at = e.base
	}
	for i := len(deltas) - 1; i >= 0; i-- {
		content, err := p.inflate(deltas[i], maxPacked)
		if err == nil && deltas[i].kind == "" {
			work += int64(len(content))
			content, err = applyDelta(data, content)
		}
		if err != nil {
			return nil, work, err
		}
		data = content
		if work += int64(len(data)); work > most {
			return nil, work, errPack
		}
	}
	return data, work, nil
}

// inPack is where a packed object is; a nil pack where git has to be asked. What was pushed and
// is not admitted yet, only git reads.
func (d *direct) inPack(id string) (*pack, int64) {
	name, err := hex.DecodeString(id)
	if err != nil || len(name) != idLen || d.packReads >= d.mostPacked || d.packWork >= maxPackWork {
		return nil, 0
	}
	if d.packs == nil {
		d.packs = []*pack{}
		for _, objects := range d.objects {
			if objects != d.quarantine {
				d.packs = append(d.packs, openPacks(objects)...)
			}
		}
	}
	for _, p := range d.packs {
		if at, err := p.find(name); err == nil && at >= 0 {
			return p, at
		}
	}
	return nil, 0
}

// packedInfo is what a pack says of an object. With ok false, git has to be asked.
func (d *direct) packedInfo(id string) (o Object, ok bool) {
	p, at := d.inPack(id)
	if p == nil {
		return o, false
	}
	d.packReads++
	kind, size, err := p.info(at)
	return Object{id, kind, size}, err == nil
}

// packedRead is an object of at most limit bytes, or TooLarge. With ok false, git has to be asked: for
// what does not have that id, too, as where a damaged index leads to another object.
func (d *direct) packedRead(id string, limit int64) (o Object, data []byte, ok bool, err error) {
	p, at := d.inPack(id)
	if p == nil {
		return o, nil, false, nil
	}
	d.packReads++
	kind, size, no := p.info(at)
	if o = (Object{id, kind, size}); no != nil || size > maxPacked {
		return Object{}, nil, false, nil
	}
	if size > limit {
		return o, nil, true, &TooLarge{o, limit}
	}
	data, work, no := p.read(at, maxPackWork-d.packWork)
	if d.packWork += work; no != nil || int64(len(data)) != size || idOf(kind, data) != id {
		return Object{}, nil, false, nil
	}
	return o, data, true, nil
}

// close closes the packs. They are opened anew for who asks again.
func (d *direct) close() {
	closePacks(d.packs)
	d.packs = nil
}
