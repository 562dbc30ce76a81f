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

	"git-ward/internal/atomicfile"
	"git-ward/internal/config"
	"git-ward/internal/token"
)

// wardFiles makes what Ward keeps beside git: settings, the door's key, and the
// directory of admitted pushes. Nobody but the owner reads it, unless share opens it
// to the PMs' group; the key is the owner's in any case.
func (in *installer) wardFiles(context.Context) error {
	ward := filepath.Join(in.Dir, "ward")
	for _, dir := range []string{ward, filepath.Join(ward, "pending")} {
		err := os.Mkdir(dir, 0o700)
		if err == nil && dir == ward {
			in.report.did("made ward/ with config.toml and the door's key")
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	key := make([]byte, token.MinKey)
	rand.Read(key) // never fails (crypto/rand)
	for _, file := range []struct {
		path string
		data []byte
		mode fs.FileMode
	}{{config.Path, in.Config, 0o644}, {token.KeyFile, key, 0o600}} {
		path := filepath.Join(in.Dir, file.path)
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := atomicfile.WritePrivate(path, file.data, file.mode); err != nil {
			return err
		}
		in.report.did("wrote %s", file.path)
	}
	return os.Chmod(filepath.Join(in.Dir, token.KeyFile), 0o600)
}

// nonceFile holds the seed of push certificates' nonces. It is included by the
// repository's config rather than written there, because the fence shows that.
const nonceFile = "ward/receive.config"

// nonceSeed makes git ask for signed pushes where [identity] from wants them.
func (in *installer) nonceSeed(ctx context.Context, c *config.Config) error {
	if c.Identity.From != config.FromSignedPush {
		return nil
	}
	path := filepath.Join(in.Dir, nonceFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		seed := make([]byte, 32)
		rand.Read(seed) // never fails (crypto/rand)
		text := fmt.Sprintf("# The seed of signed pushes' nonces; git ward init made it.\n[receive]\n\tcertNonceSeed = %s\n[gpg \"ssh\"]\n\tallowedSignersFile = ward/allowed_signers\n", hex.EncodeToString(seed))
		if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
			return err
		}
		in.report.did("wrote %s: pushes are asked for a signature", nonceFile)
	} else if err != nil {
		return err
	}
	return in.settings.enforce(ctx, "include.path", nonceFile)
}
