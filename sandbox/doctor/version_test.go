package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/atomicfile"
	"git-ward/internal/gittest"
)

// The hooks of a repository that was made by another build are named, with the remedy;
// those of this build are fine.
func TestHooksOfAnotherVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED in the quick tier: it builds Ward's programs")
	}
	p := gittest.New(t)
	bin, err := gittest.Bin()
	if err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(bin, "ward-hook")
	said := func(hook string) string {
		var text strings.Builder
		for _, f := range Version(t.Context(), p.Bare, hook) {
			text.WriteString(string(f.State) + " " + f.Detail + " " + f.Mend + "\n")
		}
		return text.String()
	}
	if got := said(hook); got != "fine this Ward's \n" {
		t.Errorf("of this build: %s", got)
	}
	data, err := os.ReadFile(hook)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "ward-hook")
	if err := atomicfile.Write(other, append(data, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := said(other); !strings.HasPrefix(got, "warning "+p.Bare+"/hooks/pre-receive is of another build") || !strings.Contains(got, "git ward init --update --bare "+p.Bare) {
		t.Errorf("of another build: %s", got)
	}
	if got := said(filepath.Join(t.TempDir(), "none")); !strings.HasPrefix(got, "warning is not beside") {
		t.Errorf("of no build: %s", got)
	}
}
