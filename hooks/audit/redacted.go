package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"git-ward/internal/atomicfile"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// redactedFile lists the ids of redacted objects, one a line: an index of the tombstones in
// the chain, which the gate reads at each push.
const redactedFile = "ward/redacted"

// maxRedacted bounds the list, so that every push can read it.
const maxRedacted = 20_000

// ReadRedacted reads the ids of the objects that must not come back; there may be none.
func ReadRedacted(repo *git.Repo) (ids map[string]bool, err error) {
	f, err := os.Open(filepath.Join(repo.Dir, redactedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const line = 41 // bytes
	data, err := io.ReadAll(io.LimitReader(f, maxRedacted*line+1))
	if err != nil {
		return nil, err
	}
	ids = map[string]bool{}
	for id := range strings.FieldsSeq(string(data)) {
		if !git.IsID(id) || len(data) > maxRedacted*line {
			return nil, diag.Hint(fmt.Errorf("%s is not a list of at most %d object ids", redactedFile, maxRedacted),
				"move it away; git ward fsck --repair writes it anew from the audit")
		}
		ids[id] = true
	}
	return ids, nil
}

// AddRedacted lists more objects that must not come back.
func AddRedacted(repo *git.Repo, more ...string) error {
	ids, err := ReadRedacted(repo)
	if err != nil {
		return err
	}
	if ids == nil {
		ids = map[string]bool{}
	}
	for _, id := range more {
		ids[id] = true
	}
	if len(ids) > maxRedacted {
		return fmt.Errorf("more than %d objects would be redacted in this repository", maxRedacted)
	}
	text := strings.Join(slices.Sorted(maps.Keys(ids)), "\n") + "\n"
	path := filepath.Join(repo.Dir, redactedFile)
	return errors.Join(atomicfile.Write(path, []byte(text), 0o600), likeSettings(repo, path))
}

// likeSettings makes a file readable for those who can read the settings: everybody whose
// pushes the hooks judge, whoever redacts.
func likeSettings(repo *git.Repo, path string) error {
	settings, err := os.Stat(filepath.Join(repo.Dir, config.Path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st, ok := settings.Sys().(*syscall.Stat_t); ok {
		if err := os.Chown(path, int(st.Uid), int(st.Gid)); err != nil && os.Geteuid() == 0 {
			return err
		}
	}
	return os.Chmod(path, settings.Mode().Perm()&0o660)
}
