package launch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/scratch"
)

// DefaultState is the agent's directory for a repository: below the user's state
// directory (XDG base directories), named for people and, by a hash of the
// path, for the repository alone.
func DefaultState(bare string, getenv func(string) string) (string, error) {
	root := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(root) { // "must be absolute ... ignore it" says the standard
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", diag.Hint(errors.New("no directory for the agent's state: neither XDG_STATE_HOME nor HOME is set"),
				"name one with --state DIR")
		}
		root = filepath.Join(home, ".local/state")
	}
	name := strings.TrimSuffix(filepath.Base(bare), ".git")
	sum := sha256.Sum256([]byte(bare))
	return filepath.Join(root, "ward", fmt.Sprintf("%s-%x", name, sum[:4])), nil
}

// home is the unfenced agent's HOME below a state directory.
func home(state string) string { return filepath.Join(state, "home") }

// configCopy is the path of the settings' copy in a state directory. It has a directory of its
// own, which is bound into the fence.
func configCopy(state string) string { return filepath.Join(state, "config", "config.toml") }

// claim locks an agent's state directory for this launch, against launches for any repository,
// gate or name. It resolves symbolic links, because the directory's contents and processes are
// identified by path.
func claim(state string, own bool) (held *os.File, path string, err error) {
	held, err = scratch.Claim(state, own)
	if err != nil {
		return nil, "", diag.Hint(err, "name an empty directory, or one that is not there: git ward launch --state DIR")
	}
	if path, err = filepath.EvalSymlinks(state); err != nil {
		held.Close()
	}
	return held, path, err
}

// prepareState makes the agent's directory with a copy of the settings that the agent may see.
// The copy decides nothing: hooks read the original. The caller has claimed the directory.
func prepareState(state, bare string) error {
	if err := os.MkdirAll(home(state), 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(configCopy(state)), 0o755); err != nil {
		return err
	}
	settings, err := config.Load(bare)
	if err != nil {
		return err
	}
	if err := atomicfile.Sweep(configCopy(state)); err != nil {
		return err
	}
	return atomicfile.Write(configCopy(state), settings.Copy(config.Inside), 0o444)
}
