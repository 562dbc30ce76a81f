package tool

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestTail: the last whole lines, whichever way the output was kept.
func TestTail(t *testing.T) {
	for _, c := range []struct {
		script string
		size   int
		want   string
	}{
		{"true", 10, ""},
		{"printf '\\n\\n  \\n'", 10, ""},
		{"printf 'a\\nb\\n\\n'", 10, "a\nb"},
		{"seq 1 9", 18, "1\n2\n3\n4\n5\n6\n7\n8\n9"},
		{"seq 1 9", 6, "8\n9"},
		{"seq 1 100000", 20, "99998\n99999\n100000"},
		{"head -c 100000 /dev/zero | tr '\\0' x", 10, strings.Repeat("x", 10)},
		{"head -c 100000 /dev/zero | tr '\\0' x; echo", 10, strings.Repeat("x", 9)},
		{"printf 'a\\xff\\n'", 10, "a\ufffd"},
	} {
		cmd := newCommand(t, c.script)
		cmd.Size = 2 * c.size
		out, err := cmd.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Tail(c.size); !out.OK() || got != c.want {
			t.Errorf("%s: %q, %s", c.script, got, out.End())
		}
	}
}

// TestLimit stops a command for its output before its time is over; the file
// takes less than what it may make.
func TestLimit(t *testing.T) {
	cmd := newCommand(t, "yes")
	cmd.Limit = logSize + 32<<20
	out, err := cmd.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out.OK() || out.End() != "stopped: more than 96 MiB of output" {
		t.Error(out.End())
	}
	if info, err := os.Stat(out.Log()); err != nil || info.Size() != logSize || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func newCommand(t *testing.T, script string) Command {
	return Command{
		Args: []string{"bash", "-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")},
		Timeout: time.Hour, Kind: "exec", Logs: t.TempDir(), Size: 100, Limit: logSize,
	}
}
