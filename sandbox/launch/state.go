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
			return "", diag.Hint(errors.New("no place for the agent's state: neither XDG_STATE_HOME nor HOME is set"),
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

// configCopy is the copy of the settings below a state directory. It stands in a
// directory of its own, which is bound into the fence.
func configCopy(state string) string { return filepath.Join(state, "config", "config.toml") }

// claim takes an agent's directory for this launch. Another launch's, on whatever repository
// or gate and under whatever name, is known by its lock. The path is without links: what is in
// the directory, and what runs for it, is found again by its path.
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

// prepareState makes the agent's directory, with a copy of what the agent is shown of the
// repository's settings. The copy decides nothing: the hooks read the original. The caller
// has claimed the directory.
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
