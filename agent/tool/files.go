package tool

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"git-ward/internal/worktree"
	"git-ward/protocols/boot"
)

// readSize is how many bytes a read_file returns: about 16,000 tokens.
const readSize = 64 << 10

type readArgs struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

func (b *Box) readFile() Tool {
	return define("read_file",
		fmt.Sprintf("Read a text file of the working tree. At most %d bytes come back at once; the last line then says how to read on.", readSize),
		[]param{
			{name: "path", kind: "string", doc: "path relative to the top of the working tree"},
			{name: "offset", kind: "integer", doc: "first byte to read, from 0", optional: true},
			{name: "limit", kind: "integer", doc: "how many bytes to read", optional: true},
		},
		func(_ context.Context, a readArgs) (Result, error) {
			path, err := relative(a.Path)
			if err != nil {
				return fail("%v", err), nil
			}
			if a.Offset < 0 || a.Limit < 0 {
				return fail("offset and limit count from 0"), nil
			}
			text, err := b.read(path, a.Offset, a.Limit)
			if err != nil {
				return b.explain(path, err), nil
			}
			return Result{Text: text}, nil
		})
}

func (b *Box) read(path string, offset, limit int64) (string, error) {
	t, err := b.open()
	if err != nil {
		return "", err
	}
	defer t.Close()
	// Without O_NONBLOCK a named pipe would block the agent until somebody writes.
	f, err := t.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := t.guard(f); err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", notRegular(path, info.Mode())
	}
	if limit == 0 || limit > readSize {
		limit = readSize
	}
	data, err := io.ReadAll(io.NewSectionReader(f, offset, limit))
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "", fmt.Errorf("%s is not text (%d bytes): look at it by the tool bash", path, info.Size())
	}
	return excerpt(data, offset, info.Size()), nil
}

// excerpt is the text of bytes from an offset, with a last line that says where the rest
// begins. It ends at a character boundary, so that the next read starts at one.
func excerpt(data []byte, offset, size int64) string {
	end := offset + int64(len(data))
	if end < size {
		if cut := lastRune(data); cut > 0 {
			data, end = data[:cut], offset+int64(cut)
		}
	}
	text := strings.ToValidUTF8(string(data), "\ufffd")
	switch {
	case end < size:
		return fmt.Sprintf("%s\n[bytes %d to %d of %d; read on with offset %d]", text, offset, end, size, end)
	case offset > 0:
		return fmt.Sprintf("%s\n[bytes %d to %d of %d; the end]", text, offset, end, size)
	}
	return text
}

// lastRune is the start of a character cut off by data's end, or len(data).
func lastRune(data []byte) int {
	for n := 1; n <= min(utf8.UTFMax, len(data)); n++ {
		if at := len(data) - n; utf8.RuneStart(data[at]) {
			if !utf8.FullRune(data[at:]) {
				return at
			}
			break
		}
	}
	return len(data)
}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (b *Box) writeFile() Tool {
	return define("write_file",
		"Write a file of the working tree, whole; folders are made. A file that exists is replaced and stays executable if it was.",
		[]param{
			{name: "path", kind: "string", doc: "path relative to the top of the working tree"},
			{name: "content", kind: "string", doc: "all bytes of the file"},
		},
		func(_ context.Context, a writeArgs) (Result, error) {
			path, err := relative(a.Path)
			if err != nil {
				return fail("%v", err), nil
			}
			if top, _, _ := strings.Cut(path, "/"); b.Running && boot.IsCode(top) && !worktree.InRecord(path) {
				return fail("%s is code of the branch that this process runs from (BOOT-3): change it on another branch, and bootstrap that one", path), nil
			}
			if int64(len(a.Content)) > b.WriteSize {
				return fail("%s would have %d bytes; at most %d can be pushed", path, len(a.Content), b.WriteSize), nil
			}
			if err := b.write(path, a.Content); err != nil {
				return b.explain(path, err), nil
			}
			return Result{Text: fmt.Sprintf("wrote %s, %d bytes", path, len(a.Content))}, nil
		})
}

// write replaces a file by rename, so that a kill leaves the old or the new one. It does not
// fsync: after a crash the working tree is restored from refs.
func (b *Box) write(path, content string) error {
	t, err := b.open()
	if err != nil {
		return err
	}
	defer t.Close()
	dir, err := t.directory(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := filepath.Base(path)
	mode, err := writeMode(dir, path, name)
	if err != nil {
		return err
	}
	temp := ".ward-" + rand.Text()
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	// Chmod, because the umask has removed bits.
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		dir.Remove(temp)
	}
	return err
}

// writeMode is the new file's mode: 0644, executable if the old one was; an error if it may
// not be written.
func writeMode(dir *os.Root, path, name string) (fs.FileMode, error) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o644, nil
	case err != nil:
		return 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := dir.Readlink(name)
		return 0, fmt.Errorf("%s is a symbolic link to %s: write that file, or remove the link first", path, target)
	case !info.Mode().IsRegular():
		return 0, notRegular(path, info.Mode())
	}
	return 0o644 | info.Mode().Perm()&0o111, nil
}

func notRegular(path string, mode fs.FileMode) error {
	if mode.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	return fmt.Errorf("%s is not a regular file", path)
}
