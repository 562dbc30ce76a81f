package cache

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/internal/scratch"
)

// maxEntries bounds the files of one entry.
const maxEntries = 2_000_000

// Fill makes the entry of a key from a commit of main, if there is none: pack writes its
// files as a tar, and may read before, the newest entry of the key, nil for none. Whoever
// else fills is waited for. An entry is whole or it is not there: what a filler that was
// killed leaves is removed by the next.
func (s *Store) Fill(ctx context.Context, key, main string, kinds []Kind, patience time.Duration, pack func(before *Entry, tar io.Writer) error) (err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	lock, err := flock.File(ctx, filepath.Join(s.Dir, lockFile), patience)
	if err != nil {
		if lock != nil {
			lock.Close()
		}
		return fmt.Errorf("the cache is being filled: %w", err)
	}
	defer lock.Close()
	before, err := s.Newest(key, main)
	if err != nil {
		return err
	}
	if before != nil {
		defer before.Close()
		if before.Seal.Main == main {
			return nil
		}
	}
	if err := s.collect(); err != nil {
		return err
	}
	made, err := scratch.Make(s.Dir, "fill-")
	if err != nil {
		return err
	}
	defer made.Remove()
	dir := made.Path
	bytes, err := s.unpack(dir, func(w io.Writer) error { return pack(before, w) })
	if err != nil {
		return err
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return !there(filepath.Join(dir, string(k))) })
	seal := Seal{Key: key, Main: main, Kinds: kinds, Time: time.Now().UTC(), Bytes: bytes}
	if err := s.seal(made, seal); err != nil {
		return err
	}
	return s.collect()
}

// there reports whether a fill came to anything of a kind.
func there(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// seal gives a directory the name by which it is found, last of all.
func (s *Store) seal(dir *scratch.Dir, seal Seal) error {
	info, err := os.Stat(dir.Path)
	if err != nil {
		return err
	}
	seal.Inode = info.Sys().(*syscall.Stat_t).Ino
	data, err := json.Marshal(seal)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir.Path, sealFile), data, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(dir.Path, 0o755); err != nil {
		return err
	}
	if err := syncAll(dir.Path); err != nil { // what has its name is on the disk, all of it
		return err
	}
	if err := dir.Keep(filepath.Join(s.Dir, fmt.Sprintf("%s-%d", seal.name(), seal.Inode))); err != nil {
		return err
	}
	return atomicfile.SyncDir(s.Dir)
}

// syncAll writes all of a directory's file system to the disk: an entry has too many files
// to go by each.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// unpack reads a tar into a directory. The tar is a stranger's: nothing but files and
// directories, below the directory, within the store's size.
func (s *Store) unpack(dir string, pack func(io.Writer) error) (bytes int64, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	r, w := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := pack(w)
		w.CloseWithError(errors.Join(err, errEnd))
		packed <- err
	}()
	bytes, err = s.untar(root, r)
	r.CloseWithError(err)
	return bytes, errors.Join(<-packed, err)
}

// errEnd is the end of what pack wrote. A tar that has it in its middle is cut off.
var errEnd = errors.New("the tar is cut off")

func (s *Store) untar(root *os.Root, from io.Reader) (bytes int64, err error) {
	files := tar.NewReader(from)
	for n := 0; ; n++ {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, from) // the padding
			if errors.Is(err, errEnd) {
				err = nil
			}
			return bytes, err
		}
		if err != nil {
			return bytes, err
		}
		name := path.Clean(strings.TrimPrefix(h.Name, "./"))
		const block = 4096 // of a file system, for each file
		if bytes += h.Size + block; bytes > s.Size || n > maxEntries {
			return bytes, diag.Hint(fmt.Errorf("what main's lockfiles name is larger than [verify] cache_size (%d bytes)", s.Size), "raise it, or leave the kind out of [verify] cache")
		}
		if err := put(root, name, h, files); err != nil {
			return bytes, err
		}
	}
}

// put makes one entry of a tar. A link is left out: nothing of a cache needs one.
func put(root *os.Root, name string, h *tar.Header, content io.Reader) error {
	switch {
	case name == "." || name == sealFile:
		return nil
	case h.Typeflag == tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case h.Typeflag != tar.TypeReg:
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|os.FileMode(h.Mode)&0o111)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
