// Package atomicfile writes files that are whole or not there at all: temporary
// file, fsync, rename, fsync of the directory.
package atomicfile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces the file at path. A kill at any point leaves the old file or the new one, and
// at worst a temporary file beside it (see Unfinished). In a directory that a group shares
// (group-writable and set-group-id, as git's core.sharedRepository makes it), the group gets
// the owner's rights on the file. Use WritePrivate for a file that must not be shared.
func Write(path string, data []byte, mode fs.FileMode) error {
	dir, _ := filepath.Split(path)
	if info, err := os.Stat(cmp.Or(dir, ".")); err == nil && Shared(info.Mode()) {
		mode |= mode >> 3 & 0o070
	}
	return WritePrivate(path, data, mode)
}

// Shared reports whether a group shares a directory with this mode.
func Shared(dir fs.FileMode) bool { return dir&fs.ModeSetgid != 0 && dir&0o020 != 0 }

// WritePrivate is Write, but keeps the mode even in a directory that a group shares.
func WritePrivate(path string, data []byte, mode fs.FileMode) error {
	if err := replace(path, data, mode, (*os.File).Sync); err != nil {
		return err
	}
	dir, _ := filepath.Split(path)
	return SyncDir(dir)
}

// WriteVolatile is WritePrivate without waiting for the disk. A crash of the machine may leave any
// content, so it is for files that mean nothing after that.
func WriteVolatile(path string, data []byte, mode fs.FileMode) error {
	return replace(path, data, mode, func(*os.File) error { return nil })
}

func replace(path string, data []byte, mode fs.FileMode, sync func(*os.File) error) error {
	dir, name := filepath.Split(path)
	f, err := os.CreateTemp(dir, "."+name+infix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), sync(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Rewrite is WritePrivate with the mode of the existing file. The file must exist.
func Rewrite(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return WritePrivate(path, data, info.Mode().Perm())
}

// infix and digits follow a file's name in the name of its replacement. Nobody names a copy of
// his own so: .config.20261128 may be somebody's file.
const infix = ".ward-"

// Unfinished takes the name of a temporary file that a killed writer left, and returns the
// name of the file it was written for. It returns "" for any other name.
func Unfinished(name string) string {
	i := strings.LastIndex(name, infix)
	if i < 2 || name[0] != '.' || strings.Trim(name[i+len(infix):], "0123456789") != "" || strings.HasSuffix(name, infix) {
		return ""
	}
	return name[1:i]
}

// Sweep removes the temporary files that killed writers of a file left. Call it only while
// nobody else can write the file, for example under a lock: it would also remove the temporary
// file of a live writer.
func Sweep(path string) error {
	dir, name := filepath.Split(path)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	for _, e := range entries {
		if Unfinished(e.Name()) == name && e.Type().IsRegular() {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// SyncDir makes renames and removals in a directory durable; "" is the current one.
func SyncDir(dir string) error {
	d, err := os.Open(cmp.Or(dir, "."))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
