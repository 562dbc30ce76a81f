// Package glob matches a pattern below a directory whose own name is taken literally, even if
// it has the characters of a pattern, such as p[1].git.
package glob

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Below returns the sorted paths below a directory that a pattern of io/fs.Glob matches, none
// if there is no such directory. The only error is a malformed pattern.
func Below(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, err
}
