package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// tree is the opened working tree. os.Root confines every access, links included; what remains
// is to protect .git.
type tree struct {
	*os.Root
	real string // its resolved path
}

func (b *Box) open() (*tree, error) {
	root, err := os.OpenRoot(b.Dir)
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	defer dir.Close()
	real, err := realPath(dir)
	if err != nil {
		root.Close()
		return nil, err
	}
	return &tree{root, real}, nil
}

// relative checks a model's path before the file system is used. It refuses every `..`: its
// meaning depends on links, and it is never needed.
func relative(path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path holds a NUL byte")
	case filepath.IsAbs(path):
		return "", fmt.Errorf("%s is absolute: paths are relative to the working tree", path)
	case slices.Contains(strings.Split(path, "/"), ".."):
		return "", fmt.Errorf("%s holds `..`: paths stay in the working tree", path)
	}
	path = filepath.Clean(path)
	return path, outsideGit(path)
}

func outsideGit(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if strings.EqualFold(part, ".git") {
			return fmt.Errorf("%s is in .git, which belongs to git: use git by the tool bash", path)
		}
	}
	return nil
}

// guard refuses an opened file or directory that lies in .git, because a link led there. It
// asks the kernel for the open file's path, so nothing can change between check and use.
func (t *tree) guard(f *os.File) error {
	real, err := realPath(f)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(t.real, real)
	if err != nil {
		return err
	}
	return outsideGit(rel)
}

// realPath reads an open file's path from proc(5).
func realPath(f *os.File) (string, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var real string
	if ctlErr := conn.Control(func(fd uintptr) {
		real, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	}); ctlErr != nil {
		return "", ctlErr
	}
	return real, err
}

// directory opens a directory for writing, and makes it if needed.
func (t *tree) directory(path string) (*os.Root, error) {
	for existing := path; ; existing = filepath.Dir(existing) {
		f, err := t.OpenFile(existing, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) && existing != "." {
			continue
		}
		if err != nil {
			return nil, err
		}
		err = t.guard(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		break
	}
	if err := t.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return t.OpenRoot(path)
}

// explain words a path's error for a model.
func (b *Box) explain(path string, err error) Result {
	var wrapped *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("%s does not exist", path)
	case b.leadsOut(path):
		return fail("%s leads out of the working tree by a symbolic link", path)
	case errors.As(err, &wrapped):
		return fail("%s: %v", path, wrapped.Err)
	}
	return fail("%v", err)
}

// leadsOut finds out whether os.Root refused a path because of links. It only words an error,
// so following links here is harmless.
func (b *Box) leadsOut(path string) bool {
	top, err := filepath.EvalSymlinks(b.Dir)
	if err != nil {
		return false
	}
	for at := filepath.Join(b.Dir, path); len(at) > len(b.Dir); at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			rel, err := filepath.Rel(top, real)
			return err == nil && !filepath.IsLocal(rel)
		}
	}
	return false
}
