package inside

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestAssigned: a payload has the arguments and variables that were assigned after its container
// was made; without what is assigned, or with what is none, nothing starts.
func TestAssigned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "assigned")
	run := func() (string, int, error) {
		var out bytes.Buffer
		code, err := Run(Payload{Assigned: path, Args: []string{"sh", "-c", `echo "$1 $DIRECTIVE"`, "sh"}, Stdout: &out, Stderr: &out})
		return out.String(), code, err
	}
	if out, _, err := run(); err == nil {
		t.Errorf("without an assignment it says %q", out)
	}
	if err := (&Assignment{Args: []string{"D-1 and more"}, Env: []string{"DIRECTIVE=D-1"}}).Write(path); err != nil {
		t.Fatal(err)
	}
	if out, code, err := run(); out != "D-1 and more D-1\n" || code != 0 || err != nil {
		t.Errorf("%q %d %v", out, code, err)
	}
	for _, text := range []string{"", "{", `{"args":1}`, `{"user":"0"}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, _, err := run(); err == nil {
			t.Errorf("with %q it says %q", text, out)
		}
	}
}
