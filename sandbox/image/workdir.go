package image

import (
	"errors"
	"os"

	"git-ward/internal/scratch"
)

// newWork makes a build's directory, which holds everything of the build while it runs.
func newWork() (*scratch.Dir, error) {
	dir, err := scratch.Make("", "image-")
	if err != nil {
		return nil, err
	}
	// In an ordinary user's namespace a builder works under that user's subordinate ids.
	if err := os.Chmod(dir.Path, 0o711); err != nil {
		return nil, errors.Join(err, dir.Remove())
	}
	return dir, nil
}
