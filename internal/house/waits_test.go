package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	sleep = regexp.MustCompile(`\btime\.Sleep\(`)
	// namedSleep is one whose length is a constant or a parameter: its name is explained
	// where it is declared.
	namedSleep = regexp.MustCompile(`\btime\.Sleep\((?:\d+ \* )?[a-zA-Z]\w*\)$`)
)

// TestWaits: a wait says why nothing tells when it is over, on its line or the one above.
func TestWaits(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "internal/house/") {
			return err
		}
		text, err := os.ReadFile(path)
		before := ""
		for i, line := range strings.Split(string(text), "\n") {
			reason := strings.Contains(line, "//") || strings.HasPrefix(strings.TrimSpace(before), "//")
			if sleep.MatchString(line) && !reason && !namedSleep.MatchString(line) {
				t.Errorf("%s:%d waits and does not say why: wait for an event, or say what tells nobody", path, i+1)
			}
			before = line
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
