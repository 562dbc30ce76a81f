package fence

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Scripts of the host's are not shown in the fence, whichever directory a server
// keeps them in.
func TestOtherHooksAreCovered(t *testing.T) {
	bare := t.TempDir()
	for _, name := range []string{"hooks", "hooks.chained", "custom_hooks", "custom_hooks.chained", "objects", "refs"} {
		if err := os.Mkdir(filepath.Join(bare, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := otherHooks(bare), []string{"custom_hooks", "custom_hooks.chained", "hooks.chained"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
