package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/hookdir"
)

// inWard are files that init writes in ward/.
var inWard = []string{"config.toml", "config.before", "door.key", "before.json", "receive.config"}

// leftovers are temporary files of an init that was killed while writing
// (internal/atomicfile). One that existed before Ward belongs to somebody else.
func (in *installer) leftovers() (paths []string) {
	for dir, names := range map[string][]string{
		in.Dir:                        {"config"},
		in.layout.Dir:                 hookdir.Names,
		filepath.Join(in.Dir, "ward"): inWard,
	} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // not there yet
		}
		for _, e := range entries {
			if slices.Contains(names, atomicfile.Unfinished(e.Name())) && e.Type().IsRegular() {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(paths)
	return slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(in.before.Theirs, hookdir.Relative(in.Dir, path)) })
}

// theirs are files that look like an init's temporary ones but existed before.
func (in *installer) theirs() (rel []string) {
	for _, path := range in.leftovers() {
		if path = hookdir.Relative(in.Dir, path); !strings.HasPrefix(path, "ward/") {
			rel = append(rel, path)
		}
	}
	return rel
}

// place refuses another's ward/ directory, because its files would be deleted with Ward's
// removal.
func (in *installer) place() error {
	entries, err := os.ReadDir(filepath.Join(in.Dir, "ward"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	at := slices.IndexFunc(entries, func(e os.DirEntry) bool {
		return e.Name() != "pending" && !slices.Contains(inWard, atomicfile.Unfinished(e.Name()))
	})
	if err != nil || at >= 0 {
		err = fmt.Errorf("%s is not Ward's, and Ward needs its place", filepath.Join(in.Dir, "ward"))
		return diag.Hint(err, "mv %[1]s/ward %[1]s/ward.theirs", in.Dir)
	}
	return nil
}

// sweep removes them.
func (in *installer) sweep() error {
	for _, path := range in.leftovers() {
		if err := removeAgain(path); err != nil {
			return err
		}
	}
	return nil
}
