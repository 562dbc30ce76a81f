package door

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/tier"
)

// TestDeltaBomb pushes 17 KB that want to become 4 GB: a base of zeros and a
// delta that copies it 270 times. GIT_ALLOC_LIMIT refuses it; nothing else of git's does.
func TestDeltaBomb(t *testing.T) {
	tier.Full(t, "pushes bombs")
	t.Parallel()
	const base, copies = 15 << 20, 270
	delta := append(varint(base), varint(base*copies)...)
	for range copies { // copy from offset 0: all three size bytes, no offset byte
		delta = append(delta, 0x80|0x70, 0, 0, 15<<4)
	}
	for _, unpackLimit := range []string{"1", "100"} { // index-pack, unpack-objects
		f := newFixture(t, nil)
		f.git(f.bare, "config", "receive.unpackLimit", unpackLimit)
		pack := newPack(2)
		pack.header(3, base) // blob
		pack.zeros(base)
		id := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", base), make([]byte, base)...))
		pack.header(7, int64(len(delta))) // REF_DELTA
		pack.Write(id[:])
		z := zlib.NewWriter(pack)
		z.Write(delta)
		z.Close()
		f.bomb(pack.finish(), 64<<10, 700<<20)
	}
}

// TestZlibBomb pushes 700 KB of zlib that are 640 MB of blob: over git's
// bigFileThreshold, so that git streams it and GIT_ALLOC_LIMIT does not bite.
// Processor time and file size do.
func TestZlibBomb(t *testing.T) {
	tier.Full(t, "pushes bombs")
	t.Parallel()
	pack := newPack(1)
	pack.header(3, 640<<20) // blob
	pack.zeros(640 << 20)
	bomb := pack.finish()
	for name, change := range map[string]func(*config.Config){
		"cpu":  func(c *config.Config) { c.Limits.CPU.Duration = time.Second },
		"file": func(c *config.Config) { c.Limits.InputSize = 800_000 },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, change)
			f.bomb(bomb, 800_000, 500<<20)
		})
	}
}

// bomb pushes a pack and demands that it is refused within a bound of memory,
// and leaves nothing behind. wire bounds the pack itself, so that the test stays
// the one it says it is.
func (f *fixture) bomb(pack []byte, wire int, memory float64) {
	f.t.Helper()
	if len(pack) > wire {
		f.t.Fatalf("the bomb has %d bytes", len(pack))
	}
	conn := f.dial()
	conn.Write(append(updates(strings.Repeat("1", 40), "refs/heads/bomb"), pack...))
	conn.CloseWrite()
	if answer := readAll(conn); !strings.Contains(answer, "ng refs/heads/bomb") {
		f.t.Errorf("answer %q", answer)
	}
	record := f.records(1)[0]
	f.t.Logf("%d bytes: %v", len(pack), record)
	if rss := record["rss"].(float64); rss > memory {
		f.t.Errorf("git took %v bytes of memory", rss)
	}
	if size := treeSize(f.t, filepath.Join(f.bare, "objects")); size > 1<<20 {
		f.t.Errorf("%d bytes stay on disk", size)
	}
	f.clean()
}

func treeSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// pack writes what no honest git would (gitformat-pack(5)).
type pack struct{ bytes.Buffer }

func newPack(objects uint32) *pack {
	p := new(pack)
	p.WriteString("PACK\x00\x00\x00\x02")
	binary.Write(p, binary.BigEndian, objects)
	return p
}

func (p *pack) header(kind byte, size int64) {
	b := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		p.WriteByte(b | 0x80)
		b = byte(size & 0x7f)
	}
	p.WriteByte(b)
}

// zeros writes so many zeros, whole MiBs, as zlib (RFC 1950). One flushed MiB
// refers to nothing before it, so it can be repeated without compressing again.
func (p *pack) zeros(size int) {
	var block bytes.Buffer
	z, _ := flate.NewWriter(&block, flate.BestCompression)
	z.Write(make([]byte, 1<<20))
	z.Flush()
	p.Write([]byte{0x78, 0xda})
	p.Write(bytes.Repeat(block.Bytes(), size>>20))
	p.Write([]byte{0x03, 0x00})                                 // a last, empty block
	binary.Write(p, binary.BigEndian, uint32(size%65521)<<16|1) // Adler-32 of zeros
}

func (p *pack) finish() []byte {
	sum := sha1.Sum(p.Bytes())
	return append(p.Bytes(), sum[:]...)
}

// varint is the size at the start of a delta.
func varint(n uint64) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}
