package install

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"git-ward/internal/atomicfile"
	"git-ward/internal/config"
	"git-ward/internal/token"
)

// wardFiles makes Ward's files outside git: settings, the door's key, and the directory of
// admitted pushes. Only the owner can read them, unless share opens them to the PMs' group;
// the key always stays the owner's.
func (in *installer) wardFiles(context.Context) error {
	ward := filepath.Join(in.Dir, "ward")
	missing := func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if missing(ward) {
		err := in.do(change("make", "ward/ with config.toml and the door's key"), func() error { return os.Mkdir(ward, 0o700) })
		if err != nil {
			return err
		}
	}
	if !in.DryRun {
		if err := os.Mkdir(filepath.Join(ward, "pending"), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := in.begin(); err != nil {
			return err
		}
	}
	settings, err := in.settingsText()
	if err != nil {
		return err
	}
	key := make([]byte, token.MinKey)
	rand.Read(key) // never fails (crypto/rand)
	for _, file := range []struct {
		path string
		data []byte
		mode fs.FileMode
	}{{config.Path, settings, 0o644}, {token.KeyFile, key, 0o600}} {
		path := filepath.Join(in.Dir, file.path)
		if !missing(path) {
			continue
		}
		if err := in.do(change("write", "%s", file.path), func() error { return atomicfile.WritePrivate(path, file.data, file.mode) }); err != nil {
			return err
		}
	}
	if in.DryRun {
		return nil
	}
	return os.Chmod(filepath.Join(in.Dir, token.KeyFile), 0o600)
}

// settingsText is the first settings file: the defaults, with the names of the branches.
func (in *installer) settingsText() (text []byte, err error) {
	text = in.Config
	for _, s := range [][2]string{{"control.branch", in.branches.Branch}, {"control.project", in.branches.Project}} {
		if text, err = config.Set(text, s[0], strconv.Quote(s[1])); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// updateSettings brings the settings that an earlier version wrote to this one, when asked.
func (in *installer) updateSettings(context.Context) error {
	if !in.Update || in.fresh {
		return nil
	}
	path := filepath.Join(in.Dir, config.Path)
	data, err := config.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && in.DryRun {
		return nil // it would be today's
	}
	if err != nil {
		return err
	}
	updated, changes, err := config.Update(data, path)
	if err != nil || len(changes) == 0 {
		return err
	}
	if !in.DryRun {
		if err := atomicfile.Rewrite(path, updated); err != nil {
			return err
		}
	}
	for _, c := range changes {
		in.report.Changes = append(in.report.Changes, change("update", "%s: %s", config.Path, c))
	}
	return nil
}

// nonceFile has the seed for push certificates' nonces. The repository's config includes it
// instead of containing it, because the fence shows the config.
const nonceFile = "ward/receive.config"

// nonceSeed makes git request signed pushes if [identity] from requires them.
func (in *installer) nonceSeed(ctx context.Context, c *config.Config) error {
	if c.Identity.From != config.FromSignedPush {
		return nil
	}
	path := filepath.Join(in.Dir, nonceFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		seed := make([]byte, 32)
		rand.Read(seed) // never fails (crypto/rand)
		text := fmt.Sprintf("# The seed of signed pushes' nonces; git ward init made it.\n[receive]\n\tcertNonceSeed = %s\n[gpg \"ssh\"]\n\tallowedSignersFile = ward/allowed_signers\n", hex.EncodeToString(seed))
		err := in.do(change("write", "%s: pushes are asked for a signature", nonceFile), func() error { return atomicfile.Write(path, []byte(text), 0o600) })
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return in.settings.add(ctx, "include.path", func(int) Change { return change("set", "include.path = %s", nonceFile) }, nonceFile)
}
