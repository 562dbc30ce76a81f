package install

import (
	"os"
	"path/filepath"
	"regexp"
)

// leftovers are the temporary files of an init that was killed while it wrote a file
// (internal/atomicfile), by the directory that they are in.
func (in *installer) leftovers() (paths []string) {
	for dir, names := range map[string]*regexp.Regexp{
		in.Dir:                        regexp.MustCompile(`^\.config\.\d+$`),
		in.layout.Dir:                 regexp.MustCompile(`^\.(pre-receive|post-receive)\.\d+$`),
		filepath.Join(in.Dir, "ward"): regexp.MustCompile(`^\.(config\.toml|config\.before|door\.key|before\.json|receive\.config)\.\d+$`),
	} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // not there yet
		}
		for _, e := range entries {
			if names.MatchString(e.Name()) && e.Type().IsRegular() {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths
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
