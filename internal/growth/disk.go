package growth

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
)

// Size is the disk space of the files below a directory, in bytes. It counts whole blocks,
// because a loose object of ten bytes takes one. Files that disappear meanwhile count as
// nothing.
func Size(dir string) (bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				bytes += Disk(info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	return bytes, err
}

// Disk is the disk space of one file; some file systems count no blocks for small ones.
func Disk(info fs.FileInfo) int64 {
	const block = 512 // stat(2)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return max(info.Size(), st.Blocks*block)
	}
	return info.Size()
}

// Free is how many bytes of a path's file system an ordinary user may still use.
func Free(path string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(s.Bavail) * s.Bsize, nil
}

// abandonedAfter is how long nothing may be written to a quarantine before it is nobody's:
// longer than a push through the door lasts, and than a push of anybody's is silent.
const abandonedAfter = 30 * time.Minute

// Quarantines removes the quarantines of killed receive-packs, and returns the size of the
// others by owner, "" for an unknown one. Pushes under way are included, because no ledger has
// them yet; running returns their owners by directory name, and is asked where there is one.
func Quarantines(bare string, running func() map[string]string) (left map[string]int64, err error) {
	objects := filepath.Join(bare, "objects")
	entries, err := os.ReadDir(objects)
	if err != nil {
		return nil, err
	}
	left, running = map[string]int64{}, sync.OnceValue(running)
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), "tmp_objdir-incoming-") { // git's name for them (tmp-objdir.c)
			continue
		}
		dir := filepath.Join(objects, e.Name())
		if quiet(dir) > abandonedAfter {
			if err := discard(dir); err != nil {
				return nil, err
			}
			continue
		}
		n, err := Size(dir)
		if err != nil {
			return nil, err
		}
		who, runs := running()[e.Name()]
		if !runs {
			data, _ := os.ReadFile(filepath.Join(dir, ownerFile)) // none where nobody wrote it
			who = string(data)
		}
		left[who] += n
	}
	return left, nil
}

// ownerFile, in what a push left, says whose push it was.
const ownerFile = "ward-pusher"

// Left records whose push left a quarantine, by its directory's name, after the push has ended
// and nothing can move its objects into the repository. A quarantine that is gone needs no
// record.
func Left(bare, name, who string) error {
	err := atomicfile.Write(filepath.Join(bare, "objects", name, ownerFile), []byte(who), 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// goneEnd is of the name of a quarantine that is being removed.
const goneEnd = ".gone"

// discard removes a quarantine, whole from the first moment on: should it be somebody's
// after all, because a clock was set ahead, his git does not find it and refuses the push.
// Of one that goes file by file it would keep what is left, and move the refs.
func discard(dir string) error {
	if !strings.HasSuffix(dir, goneEnd) {
		if err := os.Rename(dir, dir+goneEnd); errors.Is(err, fs.ErrNotExist) {
			return nil // it ended by itself
		} else if err != nil {
			return err
		}
		dir += goneEnd
	}
	objects, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer objects.Close()
	return objects.RemoveAll(filepath.Base(dir))
}

// quiet is how long nothing below a directory was written to.
func quiet(dir string) time.Duration {
	newest := time.Time{}
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return nil
	})
	if newest.IsZero() { // it went by itself
		return 0
	}
	return time.Since(newest)
}
