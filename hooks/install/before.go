package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"git-ward/internal/atomicfile"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// beforeFile is the path of the record of the repository's earlier state. It is written before
// each change that it describes, so that a kill never leaves an unrecorded change.
const beforeFile = "ward/before.json"

// maxBefore bounds the file, in bytes.
const maxBefore = 64 << 20

// before is the repository's state before Ward, as far as init changed it.
type before struct {
	dir   string
	known bool // it is on disk

	Made     bool               `json:"made"`              // Ward made the repository
	Assumed  bool               `json:"assumed,omitempty"` // an earlier version installed Ward, and wrote nothing down
	Control  config.Control     `json:"control"`           // the two branches, as init chose them
	Config   []byte             `json:"config"`            // the whole file, as it was
	Settings map[string]setting `json:"settings"`          // those that init changed
	Hooks    []string           `json:"hooks"`             // the names of hooks that were there
	HooksDir bool               `json:"hooks_dir"`         // the directory of hooks was there
	Reflogs  bool               `json:"reflogs"`           // logs/ was there
	Theirs   []string           `json:"theirs,omitempty"`  // files that are named as an init's temporary ones
	Modes    []mode             `json:"modes,omitempty"`   // of paths that were opened to a group
}

// setting is a setting of git's before and after init: all its values.
type setting struct {
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// mode is who may do what with a path.
type mode struct {
	Path string      `json:"path"`
	Mode fs.FileMode `json:"mode"`
	GID  int         `json:"gid"`
}

// load reads the record, where there is one.
func (b *before) load() error {
	path := filepath.Join(b.dir, beforeFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err == nil && info.Size() > maxBefore {
		err = fmt.Errorf("%s has %d bytes", path, info.Size())
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, b); err != nil {
		return diag.Hint(fmt.Errorf("%s, which says what stood before Ward, cannot be read: %w", path, err), "put it aside; then settings and hooks are as init finds them")
	}
	b.known = true
	return nil
}

// save writes it.
func (b *before) save() error {
	data, err := json.MarshalIndent(b, "", "\t")
	if err != nil {
		return err
	}
	b.known = true
	return atomicfile.WritePrivate(filepath.Join(b.dir, beforeFile), append(data, '\n'), 0o600)
}

// begin records the repository's state once. If an earlier version of Ward installed itself,
// what looks like Ward's counts as absent before.
func (in *installer) begin() error {
	b := in.before
	if b.known {
		return nil
	}
	var err error
	if b.Config, err = os.ReadFile(filepath.Join(in.Dir, "config")); err != nil {
		return err
	}
	b.Made, b.Assumed, b.Settings = in.fresh, in.assumed(), map[string]setting{}
	_, err = os.Stat(filepath.Join(in.Dir, "logs"))
	b.Reflogs = err == nil
	_, err = os.Stat(in.layout.Dir)
	b.HooksDir = err == nil
	b.Control = in.branches
	if !b.Assumed {
		b.Theirs = in.theirs()
	}
	return b.save()
}

// assumed reports whether an earlier version of Ward installed itself.
func (in *installer) assumed() bool {
	_, err := os.Stat(filepath.Join(in.Dir, config.Path))
	return in.before.Assumed || !in.before.known && err == nil
}

// remember records a setting before its first change, and its new value.
func (b *before) remember(key string, had, becomes []string) error {
	s, ok := b.Settings[key]
	if !ok {
		s.Before = had
	}
	s.After = becomes
	b.Settings[key] = s
	return b.save()
}
