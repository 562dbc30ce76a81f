package site

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
)

// maxManifest bounds the manifest, in bytes: 50 for each file that a report may have.
const maxManifest = 4 << 20

// replaceable is an error where a path has something that is no report of Ward's, or has
// more than that.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const remedy = "name a directory that is not there, or that an earlier report made"
	if !info.IsDir() {
		return diag.Hint(fmt.Errorf("%s is there and is no directory", path), remedy)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) == 0 {
		return err
	}
	known, err := readManifest(path)
	if err != nil {
		return diag.Hint(fmt.Errorf("%s is there, and no report of Ward's made it", path), remedy)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() != manifest && !slices.Contains(known, e.Name()) {
			return diag.Hint(fmt.Errorf("%s has %s, which no report made, so it is not replaced", path, diag.Untrusted(e.Name())), "move that away, or "+remedy)
		}
	}
	return nil
}

func readManifest(dir string) ([]string, error) {
	// A pipe that somebody put there would let us wait for good.
	f, err := os.OpenFile(filepath.Join(dir, manifest), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("the manifest is no file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxManifest))
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), err
}

// commit puts the directory where it belongs: whole, whenever somebody looks.
func (d *directory) commit() error {
	slices.Sort(d.names)
	if err := os.WriteFile(filepath.Join(d.temp, manifest), []byte(strings.Join(d.names, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(d.temp); err != nil {
		return err
	}
	err := os.Rename(d.temp, d.path) // over nothing, or an empty directory
	if err == nil {
		return atomicfile.SyncDir(filepath.Dir(d.path))
	}
	if err := replaceable(d.path); err != nil { // somebody was faster
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, d.temp, unix.AT_FDCWD, d.path, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("replacing %s: %w", d.path, err)
	}
	return atomicfile.SyncDir(filepath.Dir(d.path)) // discard removes the old one
}
