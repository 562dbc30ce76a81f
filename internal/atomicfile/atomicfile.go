// Package atomicfile writes files that are whole or not there at all: temporary
// file, fsync, rename, fsync of the folder.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file at path. A kill at any point leaves the old file or
// the new one, and at worst a temporary file named .<name>.*.
func Write(path string, data []byte, mode fs.FileMode) error {
	dir, name := filepath.Split(path)
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes renames and removals in a folder durable; "" is the current one.
func SyncDir(dir string) error {
	if dir == "" {
		dir = "."
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
