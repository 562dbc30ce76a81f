package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// packedRepo has commits whose trees and files git packs as deltas of each other, and all ids.
func packedRepo(t *testing.T, repack ...string) (r *Repo, ids []string) {
	t.Helper()
	r = bare(t)
	ctx := t.Context()
	parent := ""
	for i := range 12 {
		files := map[string][]byte{"large": bytes.Repeat([]byte("0123456789abcdef"), maxPacked/16+i+1)}
		for k := range 12 {
			files[fmt.Sprint("d/", k)] = fmt.Appendf(bytes.Repeat(fmt.Appendf(nil, "line %d\n", k), 2000), "version %d\n", i*min(k, 1))
		}
		batch := r.Batch(ctx)
		tree, err := batch.EditTree("", files)
		batch.Close()
		if err == nil {
			parent, err = r.CommitTree("a <a@b>", tree, parent, time.Unix(int64(i), 0), "a commit")
		}
		if err == nil {
			_, err = r.Output(ctx, "update-ref", "refs/heads/main", parent)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Output(ctx, append(repack, "repack", "-a", "-d", "-f", "-q", "--depth=10")...); err != nil {
		t.Fatal(err)
	}
	out, err := r.Output(ctx, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	if err != nil {
		t.Fatal(err)
	}
	return r, strings.Fields(string(out))
}

// asGit compares what a reader says of an object with what git says of it.
func asGit(t *testing.T, ours, theirs *Batch, id string) {
	t.Helper()
	for _, limit := range []int64{1 << 10, 64 << 20} {
		o, data, err := ours.Read(id, limit)
		want, content, no := theirs.Read(id, limit)
		if o != want || !bytes.Equal(data, content) || fmt.Sprint(err) != fmt.Sprint(no) {
			t.Fatalf("%s: %v %d bytes %v, want %v %d bytes %v", id, o, len(data), err, want, len(content), no)
		}
	}
	if o, err := ours.Info(id); err != nil {
		t.Fatal(id, err)
	} else if want, err := theirs.Info(id); err != nil || o != want {
		t.Fatalf("%s: %v, want %v %v", id, o, want, err)
	}
}

// TestPacked holds what is read from packs to what git reads, with bases by offset and by id, and
// needs no child for it.
func TestPacked(t *testing.T) {
	for _, setting := range []string{"true", "false"} {
		t.Run(setting, func(t *testing.T) {
			r, ids := packedRepo(t, "-c", "repack.useDeltaBaseOffset="+setting)
			theirs := &Batch{ctx: t.Context(), repo: r}
			defer theirs.Close()
			deltas := 0
			for _, id := range ids {
				ours := r.Batch(t.Context())
				asGit(t, ours, theirs, id)
				large, err := ours.Info(id)
				if err != nil {
					t.Fatal(err)
				}
				if large.Size <= maxPacked && ours.child != nil {
					t.Errorf("%v: git was asked", large)
				}
				p, at := ours.direct.inPack(id)
				if e, err := p.entry(at); err != nil {
					t.Error(err)
				} else if e.kind == "" {
					deltas++
				}
				ours.Close()
			}
			if deltas < 50 {
				t.Errorf("only %d deltas", deltas)
			}
		})
	}
}

// TestPackedMany: who reads many objects, or much, gets the child, and the same answers.
func TestPackedMany(t *testing.T) {
	r, ids := packedRepo(t)
	ours, theirs := r.Batch(t.Context()), &Batch{ctx: t.Context(), repo: r}
	defer ours.Close()
	defer theirs.Close()
	ids = slices.DeleteFunc(ids, func(id string) bool {
		o, err := theirs.Info(id)
		return err != nil || o.Size > maxPacked
	})
	for range 3 {
		for _, id := range ids {
			asGit(t, ours, theirs, id)
		}
	}
	if ours.child == nil || ours.direct.packReads != maxPackReads {
		t.Errorf("%d reads without a child", ours.direct.packReads)
	}
	much := r.Batch(t.Context())
	defer much.Close()
	much.direct.packWork = maxPackWork - 1
	asGit(t, much, theirs, ids[0])
	asGit(t, much, theirs, ids[1])
	if much.child == nil {
		t.Error("the work has no bound")
	}
}

// TestPackedFull looks names up in an index with more for each first byte than one call reads, and
// names that it has not.
func TestPackedFull(t *testing.T) {
	r := bare(t)
	var blobs bytes.Buffer
	for i := range 300 * atOnce {
		fmt.Fprintf(&blobs, "blob\ndata <<.\n%d\n.\n", i)
	}
	if _, err := r.OutputFrom(t.Context(), blobs.Bytes(), "fast-import", "--quiet", "--force"); err != nil {
		t.Fatal(err)
	}
	packs := openPacks(r.Dir + "/objects")
	defer closePacks(packs)
	if len(packs) != 1 || packs[0].count() != 300*atOnce {
		t.Fatal(len(packs), "packs")
	}
	for i := 0; i < 400*atOnce; i += 7 {
		id := idOf("blob", fmt.Appendf(nil, "%d\n", i))
		name, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		at, err := packs[0].find(name)
		if err != nil || (at >= 0) != (i < 300*atOnce) {
			t.Fatal(id, at, err)
		}
		if at < 0 || i%1001 != 0 {
			continue
		}
		if data, _, err := packs[0].read(at, maxPacked); err != nil || idOf("blob", data) != id {
			t.Fatal(id, err)
		}
	}
}

// TestPackedOdd: of a pack that is damaged nothing is believed that git does not say, and an object
// whose only pack is gone is missing.
func TestPackedOdd(t *testing.T) {
	r, ids := packedRepo(t)
	index, err := filepath.Glob(filepath.Join(r.Dir, "objects/pack/*.idx"))
	if err != nil || len(index) != 1 {
		t.Fatal(index, err)
	}
	theirs := &Batch{ctx: t.Context(), repo: r}
	whole := map[string]ready{} // what git says
	for _, id := range ids {
		o, data, err := theirs.Read(id, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		whole[id] = ready{o, data}
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	data := strings.TrimSuffix(index[0], ".idx") + ".pack"
	for _, name := range []string{index[0], data} {
		file, err := os.ReadFile(name)
		if err == nil {
			err = os.Chmod(name, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 8; at < len(file); at += len(file) / 40 {
			broken := slices.Clone(file)
			broken[at] ^= 0x55
			for _, text := range [][]byte{broken, file[:at]} {
				if err := os.WriteFile(name, text, 0o644); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids[:20] {
					d := r.directReader()
					o, data, ok, err := d.packedRead(id, maxPacked) // no panic, and no more than a pack may take
					if ok && err == nil && (o != whole[id].Object || !bytes.Equal(data, whole[id].data)) {
						t.Errorf("%s: %v with %d bytes, want %v", id, o, len(data), whole[id].Object)
					}
					d.close()
				}
			}
		}
		if err := os.WriteFile(name, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// An index with the offsets of two objects exchanged leads to a whole object, but not to that one.
	file, err := os.ReadFile(index[0])
	if err != nil {
		t.Fatal(err)
	}
	offsets := file[packNames+len(ids)*(idLen+4):][:4*len(ids)]
	slices.Reverse(offsets) // each number backwards, too
	for i := 0; i < len(offsets); i += 4 {
		slices.Reverse(offsets[i : i+4])
	}
	if err := os.WriteFile(index[0], file, 0o644); err != nil {
		t.Fatal(err)
	}
	led := 0
	for _, id := range ids {
		d := r.directReader()
		if p, at := d.inPack(id); p != nil {
			if _, _, err := p.read(at, maxPackWork); err == nil {
				led++
			}
		}
		o, data, ok, err := d.packedRead(id, maxPacked)
		if ok && err == nil && (o != whole[id].Object || !bytes.Equal(data, whole[id].data)) {
			t.Errorf("%s: %v is another's", id, o)
		}
		d.close()
	}
	if led < len(ids)/2 {
		t.Errorf("only %d of %d objects are led to", led, len(ids))
	}
	before := r.Batch(t.Context())
	defer before.Close()
	if err := os.Remove(index[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Info(ids[0]); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

// TestPrefetchPacked: objects that are read ahead cost none of the reads without a child, and more of
// them than there may be come in one exchange.
func TestPrefetchPacked(t *testing.T) {
	r, ids := packedRepo(t)
	b := r.Batch(t.Context())
	defer b.Close()
	b.direct.mostPacked = 20
	if err := b.Prefetch(ids[:20], maxPacked); err != nil || b.child != nil || b.direct.packReads != 0 {
		t.Errorf("%d reads, child %v: %v", b.direct.packReads, b.child != nil, err)
	}
	if err := b.Prefetch(ids[:21], 64<<20); err != nil || len(b.fetched) != 21 {
		t.Errorf("%d of 21 are at hand: %v", len(b.fetched), err)
	}
}

// TestPrefetchByPath: a file that was read ahead by a commit and a path is not read again.
func TestPrefetchByPath(t *testing.T) {
	r, _ := packedRepo(t)
	b := r.Batch(t.Context())
	defer b.Close()
	name := strings.TrimSpace(mustOutput(t, r, "rev-parse", "HEAD")) + ":d/1"
	if err := b.Prefetch([]string{name}, maxPacked); err != nil {
		t.Fatal(err)
	}
	_, data, err := b.Read(name, maxPacked)
	if err != nil || string(data) != mustOutput(t, r, "cat-file", "blob", name) || b.direct.packReads != 0 {
		t.Errorf("%d bytes, %d reads more: %v", len(data), b.direct.packReads, err)
	}
}

// TestPrefetchStops: what is too large, too much together or damaged ends a reading ahead. The rest is
// read one by one, and so is that what was read before.
func TestPrefetchStops(t *testing.T) {
	r, ids := packedRepo(t)
	for _, want := range []struct {
		what  string
		bytes int
		limit int64
		stays error
	}{
		{"too large", 3 << 20, 1 << 20, &TooLarge{}},
		{"too much together", 17 << 20, 64 << 20, nil},
		{"damaged", 1 << 10, 64 << 20, ErrDamaged},
	} {
		b := r.Batch(t.Context())
		defer b.Close()
		if err := b.start(); err != nil { // a child that runs is asked for all
			t.Fatal(err)
		}
		odd, err := r.WriteObject("blob", bytes.Repeat([]byte(want.what), want.bytes/len(want.what)))
		if err != nil {
			t.Fatal(err)
		}
		if want.stays == ErrDamaged {
			name := loosePath(r.Dir+"/objects", odd)
			if err := errors.Join(os.Chmod(name, 0o600), os.Truncate(name, 20)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Prefetch([]string{ids[0], odd, ids[1]}, want.limit); err != nil || len(b.fetched) != 1 || b.child != nil {
			t.Errorf("%s: %d at hand, child %v: %v", want.what, len(b.fetched), b.child != nil, err)
		}
		for _, id := range ids[:2] {
			if _, data, err := b.Read(id, maxPacked); err != nil || len(data) == 0 {
				t.Errorf("%s: %s: %v", want.what, id, err)
			}
		}
		_, _, err = b.Read(odd, want.limit)
		if large := (*TooLarge)(nil); !errors.Is(err, want.stays) && !(errors.As(want.stays, &large) && errors.As(err, &large)) {
			t.Errorf("%s: %v", want.what, err)
		}
		if err := b.Prefetch(ids[:2], maxPacked); err != nil {
			t.Errorf("%s: the next one: %v", want.what, err)
		}
	}
}

// TestPrefetchEnded: a reading ahead whose context has ended says so.
func TestPrefetchEnded(t *testing.T) {
	r, ids := packedRepo(t)
	ctx, end := context.WithCancel(t.Context())
	b := r.Batch(ctx)
	defer b.Close()
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	end()
	if err := b.Prefetch(ids[:2], maxPacked); err == nil {
		t.Error("read ahead after its end")
	}
}
