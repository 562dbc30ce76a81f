package image

import (
	"errors"
	"os"

	"git-ward/internal/scratch"
)

// newWork makes a directory for a build, which anything of the build works in for as long
// as it runs.
func newWork() (*scratch.Dir, error) {
	dir, err := scratch.Make("", "image-")
	if err != nil {
		return nil, err
	}
	// A builder of an ordinary user works in it under other ids of that user.
	if err := os.Chmod(dir.Path, 0o711); err != nil {
		return nil, errors.Join(err, dir.Remove())
	}
	return dir, nil
}
