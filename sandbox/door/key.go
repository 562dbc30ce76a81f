package door

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"git-ward/internal/token"
)

// readKey reads the key, which must be readable and writable only by its owner, the caller.
// Every push reads it again, so that a new key takes effect at once.
func readKey(bare string) ([]byte, error) {
	path := filepath.Join(bare, token.KeyFile)
	// NONBLOCK, because opening a FIFO would wait for its writer for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, initMends(bare, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch owner := int(info.Sys().(*syscall.Stat_t).Uid); {
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", path)
	case owner != os.Geteuid():
		err = fmt.Errorf("%s belongs to user id %d, not to you", path, owner)
	case info.Mode().Perm()&^0o600 != 0:
		err = fmt.Errorf("%s has mode %04o, not 0600", path, info.Mode().Perm())
	case info.Size() < token.MinKey || info.Size() > token.MaxKey:
		err = fmt.Errorf("%s has %d bytes; a key has %d to %d", path, info.Size(), token.MinKey, token.MaxKey)
	}
	if err != nil {
		return nil, initMends(bare, err)
	}
	return io.ReadAll(io.LimitReader(f, token.MaxKey))
}
