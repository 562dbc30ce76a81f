package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/scratch"
)

// TestLeftovers: what a killed program left, and does not go, is told, with its path; what
// goes is gone, and no word of it.
func TestLeftovers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, stays := range []bool{false, true} {
		d, err := scratch.Make("", "x-")
		if err != nil {
			t.Fatal(err)
		}
		if stays {
			err = os.MkdirAll(filepath.Join(d.Path+".mark", "in the way"), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Lock.Close() // as a kill does
		e := &examiner{}
		e.leftovers()
		if told := len(e.found) == 1 && e.found[0].State == Warning && strings.Contains(e.found[0].Detail, filepath.Base(d.Path)); told != stays {
			t.Errorf("%s stays %v: %+v", d.Path, stays, e.found)
		}
	}
}
