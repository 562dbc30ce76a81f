package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
)

// TestProfile: a tool that is on PATH alone is there in a login shell, too, whose /etc/profile
// sets another PATH on Debian.
func TestProfile(t *testing.T) {
	home, tools := t.TempDir(), filepath.Join(t.TempDir(), "it's $HOME")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, filepath.Join(tools, "ward-a-tool"), "#!/bin/sh\necho here\n")
	path := tools + ":" + os.Getenv("PATH")
	if err := WriteProfile(home, path); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"sh", "bash"} {
		cmd := exec.Command(shell, "-l", "-c", `ward-a-tool; printf %s "$PATH"`)
		cmd.Env = []string{"HOME=" + home, "PATH=" + path}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "here\n"+path {
			t.Errorf("%s -l: %v\n%s", shell, err, strings.TrimSpace(string(out)))
		}
	}
}
