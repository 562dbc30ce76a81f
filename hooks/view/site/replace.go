package site

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
)

// The limits, in bytes, of what is read from an earlier report: its manifest, with 110 bytes for each
// file that a report may have, and a page.
const (
	maxManifest = 32 << 20
	maxPage     = 64 << 20
)

// replaceable returns an error unless path does not exist, is an empty directory, or is a report of
// Ward without other files. sums has the checksums of that report's files, which it verifies.
func replaceable(path string) (sums map[string]string, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	const remedy = "name a directory that is not there, or that an earlier report made"
	if !info.IsDir() {
		return nil, diag.Hint(fmt.Errorf("%s is there and is no directory", path), remedy)
	}
	entries, err := os.ReadDir(path)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	known, headed, err := readManifest(path)
	if err != nil {
		return nil, diag.Hint(fmt.Errorf("%s is there, and no report of Ward's made it", path), remedy)
	}
	if !headed {
		// An earlier Ward wrote no head. Then only a complete match proves that Ward made it.
		if err := whole(path, entries, known); err != nil {
			return nil, diag.Hint(fmt.Errorf("%s is there, and nothing proves that a report of Ward's made it: %w", path, err),
				"if an earlier Ward made it and nothing in it is yours, move it away (mv %s %s.old) and write the report again, or %s", path, path, remedy)
		}
		return nil, nil
	}
	sums = map[string]string{}
	for _, e := range entries {
		if e.Name() == manifest {
			continue
		}
		what := "which no report made"
		if sum, listed := known[e.Name()]; listed && e.Type().IsRegular() {
			now, err := sumIn(path, e.Name())
			if err != nil {
				return nil, err
			}
			if now == sum {
				sums[e.Name()] = sum
				continue
			}
			what = "which is not as the report made it"
		}
		return nil, diag.Hint(fmt.Errorf("%s has %s, %s, so it is not replaced", path, diag.Untrusted(e.Name()), what), "move that away, or "+remedy)
	}
	return sums, nil
}

// whole refuses a directory unless it consists of exactly the files in its list, with their
// checksums and a home page.
func whole(dir string, entries []fs.DirEntry, known map[string]string) error {
	if known["index.html"] == "" || len(entries) != len(known)+1 { // the list does not list itself
		return fmt.Errorf("%s lists other files than the directory has", manifest)
	}
	for _, e := range entries {
		if e.Name() == manifest {
			continue
		}
		if sum, err := sumIn(dir, e.Name()); err != nil || sum != known[e.Name()] {
			return errors.Join(err, fmt.Errorf("%s is not as %s says", diag.Untrusted(e.Name()), manifest))
		}
	}
	return nil
}

// readManifest returns the files of a report with their checksums, and whether the manifest begins
// with manifestHead.
func readManifest(dir string) (known map[string]string, headed bool, err error) {
	data, err := readFile(filepath.Join(dir, manifest), maxManifest)
	if err != nil {
		return nil, false, err
	}
	list, headed := strings.CutPrefix(string(data), manifestHead)
	known = map[string]string{}
	for line := range strings.Lines(list) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		known[name] = sum
	}
	if headed && string(data) != listOf(known) {
		return nil, false, fmt.Errorf("%s is not as a report made it", manifest)
	}
	return known, headed, nil
}

// listOf returns the content of a manifest.
func listOf(sums map[string]string) string {
	var list strings.Builder
	list.WriteString(manifestHead)
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&list, "%s  %s\n", sums[name], name)
	}
	return list.String()
}

func sumIn(dir, name string) (string, error) {
	data, err := readFile(filepath.Join(dir, name), maxPage)
	return sumOf(data), err
}

// readFile reads a regular file of at most limit bytes. It follows no symbolic link, and O_NONBLOCK
// keeps it from hanging on a pipe.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is no regular file", path))
	}
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), limit)) + bytes.MinRead) // avoids reallocation
	_, err = data.ReadFrom(io.LimitReader(f, limit))
	return data.Bytes(), err
}

// sumOf returns a file's checksum as sha256sum writes it.
func sumOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// commit moves the directory to its final path, so that a reader never sees a partial report.
func (d *directory) commit() error {
	if err := d.put(stamps, []byte(listStamps(d.stamps))); err != nil {
		return err
	}
	if d.unchanged() {
		return nil
	}
	if err := d.bring(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.temp, manifest), []byte(listOf(d.sums)), 0o644); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(d.temp, d.mode), atomicfile.SyncDir(d.temp)); err != nil {
		return err
	}
	err := os.Rename(d.temp, d.path) // succeeds if path does not exist, or is an empty directory
	if err == nil {
		return atomicfile.SyncDir(filepath.Dir(d.path))
	}
	if _, err := replaceable(d.path); err != nil { // another process created it meanwhile
		return err
	}
	exchange := func() error {
		if err := unix.Renameat2(unix.AT_FDCWD, d.temp, unix.AT_FDCWD, d.path, unix.RENAME_EXCHANGE); err != nil {
			return fmt.Errorf("replacing %s: %w", d.path, err)
		}
		return nil
	}
	if err := exchange(); err != nil {
		return err
	}
	if _, err := replaceable(d.temp); err != nil { // another process changed it meanwhile
		return errors.Join(err, exchange())
	}
	return atomicfile.SyncDir(filepath.Dir(d.path)) // Write removes the old one
}
