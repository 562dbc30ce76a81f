package sandbox

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
)

// defaultState is the agent's directory for a repository: below the user's state
// directory (XDG base directories), named for people and, by a hash of the
// path, for the repository alone.
func defaultState(bare string, getenv func(string) string) (string, error) {
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

func (s *Spec) home() string { return filepath.Join(s.State, "home") }

// configCopy stands in a directory of its own, which is bound into the fence.
func (s *Spec) configCopy() string { return filepath.Join(s.State, "config", "config.toml") }

// prepareState makes the agent's directory, with a copy of the settings for
// checks before a push. The copy decides nothing: the hooks read the original.
func (s *Spec) prepareState() error {
	if err := os.MkdirAll(s.home(), 0o700); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.configCopy()), 0o755); err != nil {
		return err
	}
	data, err := config.ReadFile(filepath.Join(s.Bare, config.Path))
	if err != nil {
		return err
	}
	return atomicfile.Write(s.configCopy(), data, 0o444)
}
