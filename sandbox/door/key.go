package door

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// keyFile is where the door's key is, below the repository's directory. Who can
// read it can push as the agent.
const keyFile = "ward/door.key"

// The size of a key in bytes: SHA-256's output at least (RFC 2104, section 3).
const minKey, maxKey = sha256.Size, 4096

// readKey returns the key, which only its owner, the caller, may be able to
// read or write. Every push reads it anew, so that a new key counts at once.
func readKey(bare string) ([]byte, error) {
	path := filepath.Join(bare, keyFile)
	// NONBLOCK: opening a FIFO would wait for its writer for ever.
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
	case info.Size() < minKey || info.Size() > maxKey:
		err = fmt.Errorf("%s has %d bytes; a key has %d to %d", path, info.Size(), minKey, maxKey)
	}
	if err != nil {
		return nil, initMends(bare, err)
	}
	return io.ReadAll(io.LimitReader(f, maxKey))
}

// token is what WARD_PUSH_TOKEN holds: the lower-case hex HMAC-SHA256 of the
// push id (ID-1).
func token(key []byte, pushID string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(pushID))
	return hex.EncodeToString(mac.Sum(nil))
}

// newPushID names one push: the UTC second, for people, and 64 random bits. It
// serves as a file name, so it holds [0-9A-Za-z-] only.
func newPushID(now time.Time) string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return now.UTC().Format("20060102T150405Z-") + hex.EncodeToString(b[:])
}
