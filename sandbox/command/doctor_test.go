package command

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"git-ward/internal/cli"
	"git-ward/sandbox/doctor"
)

// What a machine lacks is exit 1, and every line of it says what to do.
func TestWriteFindings(t *testing.T) {
	found := []doctor.Finding{
		{Thing: "git", State: doctor.Fine, Detail: "/usr/bin/git"},
		{Thing: "podman", State: doctor.Missing, Detail: "podman is not \x1b[31minstalled", Mend: "apt-get install podman"},
	}
	const want = "fine     git                    /usr/bin/git\n" +
		"missing  podman                 podman is not \\x1b[31minstalled\n" +
		"                                mend: apt-get install podman\n"
	var text strings.Builder
	if err := writeFindings(&text, found); !errors.Is(err, cli.ErrFindings) || text.String() != want {
		t.Errorf("%v\n%s", err, &text)
	}
	if err := writeFindings(&text, found[:1]); err != nil {
		t.Errorf("nothing is lacking: %v", err)
	}
	var lines strings.Builder
	if err := writeFindingsJSON(&lines, found); !errors.Is(err, cli.ErrFindings) {
		t.Error(err)
	}
	for line := range strings.Lines(lines.String()) {
		var f doctor.Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Thing == "" {
			t.Error(err, line)
		}
	}
}
