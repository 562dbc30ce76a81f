package process

import (
	"path/filepath"

	"git-ward/internal/atomicfile"
	"git-ward/internal/shellword"
)

// WriteProfile has login shells of a home find programs where this PATH has them. Programs that
// work start their commands by `bash -l`, and /etc/profile, which sets a PATH of its own, is the
// image's; a shell reads ~/.profile behind it.
func WriteProfile(home, path string) error {
	return atomicfile.Write(filepath.Join(home, ".profile"), []byte("# /etc/profile has set another one.\nPATH="+shellword.Quote(path)+"\nexport PATH\n"), 0o644)
}
