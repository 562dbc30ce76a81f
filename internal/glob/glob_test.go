package glob

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestBelow: of two directories that one pattern fits, the one that is named is looked into.
func TestBelow(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"n1", "n[1]", `n\*`} {
		err := errors.Join(os.MkdirAll(filepath.Join(top, dir, "objects/ab"), 0o700), os.WriteFile(filepath.Join(top, dir, "objects/ab/tmp_1"), nil, 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"n1", "n[1]", `n\*`} {
		got, err := Below(filepath.Join(top, dir), "objects/*/tmp_*")
		if want := []string{filepath.Join(top, dir, "objects/ab/tmp_1")}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
	if got, err := Below(filepath.Join(top, "none"), "*"); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}
