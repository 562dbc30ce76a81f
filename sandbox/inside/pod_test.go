package inside

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestToOwners: a file that is mounted by itself is its owner's alone to write, and what is
// mounted to be read, a directory and any other file stay as they are.
func TestToOwners(t *testing.T) {
	dir := t.TempDir()
	info := ""
	for name, options := range map[string]string{"words log": "rw,nosuid", "hosts": "ro", "other": ""} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
		if options != "" {
			info += fmt.Sprintf("1 2 0:1 / %s %s - ext4 /dev/x rw\n", strings.ReplaceAll(path, " ", `\040`), options)
		}
	}
	toOwners(info + fmt.Sprintf("3 2 0:1 / %s rw - ext4 /dev/x rw\n", dir))
	for name, want := range map[string]os.FileMode{"words log": 0o644, "hosts": 0o666, "other": 0o666} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
