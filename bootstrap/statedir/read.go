package statedir

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// ErrTooLarge, ErrNotRegular and ErrLinked say why a file is not read.
var (
	ErrTooLarge   = errors.New("it is too large")
	ErrNotRegular = errors.New("it is not a regular file")
	ErrLinked     = errors.New("it has another name, too")
)

// ReadRegular reads a regular file of at most limit bytes from an untrusted user. It does not follow
// symbolic links, and does not block on pipes and devices.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, ErrNotRegular
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	if info.Sys().(*syscall.Stat_t).Nlink > 1 {
		return nil, ErrLinked // another name would keep the file within the agent's reach after a rename
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = ErrTooLarge
	}
	return data, err
}

// Exists reports whether there is anything at a path, a broken link included.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
