package git

import (
	"bytes"
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

// TestPackedOdd: of a pack that is damaged nothing is believed that git does not say, and an object
// whose only pack is gone is missing.
func TestPackedOdd(t *testing.T) {
	r, ids := packedRepo(t)
	index, err := filepath.Glob(filepath.Join(r.Dir, "objects/pack/*.idx"))
	if err != nil || len(index) != 1 {
		t.Fatal(index, err)
	}
	data := strings.TrimSuffix(index[0], ".idx") + ".pack"
	for _, name := range []string{index[0], data} {
		whole, err := os.ReadFile(name)
		if err == nil {
			err = os.Chmod(name, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 8; at < len(whole); at += len(whole) / 40 {
			broken := slices.Clone(whole)
			broken[at] ^= 0x55
			for _, text := range [][]byte{broken, whole[:at]} {
				if err := os.WriteFile(name, text, 0o644); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids[:20] {
					d := r.directReader()
					o, data, ok, err := d.packedRead(id, maxPacked) // no panic, and no more than a pack may take
					if ok && err == nil && int64(len(data)) != o.Size {
						t.Errorf("%s: %v has %d bytes", id, o, len(data))
					}
					d.close()
				}
			}
		}
		if err := os.WriteFile(name, whole, 0o644); err != nil {
			t.Fatal(err)
		}
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
