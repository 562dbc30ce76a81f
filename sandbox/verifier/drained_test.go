package verifier

import (
	"os/exec"
	"testing"
)

// TestDrained: a drained line ends as the line does, and its writers come to their end.
func TestDrained(t *testing.T) {
	t.Parallel()
	needs(t, "sh")
	const long = "{ echo x; seq 100000; echo >done; }"
	for line, ends := range map[string]int{
		long + " | grep -q x":                          0,
		long + " | grep -q y":                          1,
		"! " + long + " | head -n 1 >out":              1,
		long + " | cat | grep -q x | exit 3":           3,
		"if " + long + " | grep -q x; then exit 4; fi": 4,
		"( " + long + " | cat <<E\n1\nE\n)":            0,
	} {
		cmd := exec.Command("sh", "-c", drained(line)+"\nward=$?; test -e done || exit 99; exit $ward")
		cmd.Dir = t.TempDir()
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != ends {
			t.Errorf("%s: %q ends with %d, not %d: %s", line, drained(line), got, ends, out)
		}
	}
	for _, line := range []string{"make check", "if"} {
		if got := drained(line); got != "" {
			t.Errorf("%s: %q", line, got)
		}
	}
}
