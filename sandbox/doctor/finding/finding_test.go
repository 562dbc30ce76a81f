package finding_test

import (
	"strings"
	"testing"

	"git-ward/sandbox/doctor/finding"
)

// TestWrite: every line says what to do, and what a program said moves no cursor.
func TestWrite(t *testing.T) {
	var text strings.Builder
	finding.Write(&text, []finding.Finding{
		{Thing: "git", State: finding.Fine, Detail: "/usr/bin/git"},
		{Thing: "podman", State: finding.Missing, Detail: "podman is not \x1b[31minstalled", Mend: "apt-get install podman"},
	})
	const want = "fine     git                    /usr/bin/git\n" +
		"missing  podman                 podman is not \\x1b[31minstalled\n" +
		"                                mend: apt-get install podman\n"
	if text.String() != want {
		t.Errorf("%s", &text)
	}
}
