// Package glob finds files by a pattern below a directory whose name is a person's: what is a
// pattern in that name, such as in p[1].git, is none.
package glob

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Below are the paths of what a pattern of io/fs.Glob fits below a directory, in order; none
// where there is no such directory. The error is of a malformed pattern.
func Below(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, err
}
