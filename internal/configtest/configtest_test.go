package configtest

import (
	"strings"
	"testing"

	"git-ward/internal/config"
)

// TestSettings: a setting is found by its name where one section has it, by its section where
// more have, and what is none is said.
func TestSettings(t *testing.T) {
	text, err := Settings([]byte("[identity]\npm = []\n"), `pm = ["ada"]`, `[door] cpu = "3s"`, "changed_paths = 7")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(text, "x")
	if err != nil || c.Identity.PM[0] != "ada" || c.Door.CPU.Seconds() != 3 || c.Limits.ChangedPaths != 7 {
		t.Errorf("%v\n%s", err, text)
	}
	for line, want := range map[string]string{`cpu = "3s"`: "says of which", "never = 1": "says of which", "words": "no setting", "changed_paths = many": "is not set"} {
		if _, err := Settings(nil, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
