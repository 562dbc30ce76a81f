package scripts_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
)

// TestDemoInterrupted: ^C amid the demo takes away all that it made, and says so; what was in
// the directory before stays.
func TestDemoInterrupted(t *testing.T) {
	for name, there := range map[string]bool{"a directory of its own": false, "one that was there": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"demo", "environment"} {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "tree/scripts", name), string(text), 0o755)
			}
			up, into := filepath.Join(dir, "up"), filepath.Join(dir, "into")
			write(t, filepath.Join(dir, "tree/scripts/setup"), "#!/bin/sh\n", 0o755)
			write(t, filepath.Join(dir, "tree/scripts/build"), "#!/bin/sh\nmkdir -p \""+into+"/cache/module\"\n>\""+into+"/cache/module/file\"\nchmod -R a-w \""+into+"/cache/module\"\n>\""+up+"\"\nexec sleep 86400\n", 0o755)
			if there {
				write(t, filepath.Join(into, "mine"), "", 0o644)
			}
			cmd := exec.Command(filepath.Join(dir, "tree/scripts/demo"), into)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			await.True(t, "the demo is at work", func() bool { _, err := os.Stat(up); return err == nil })
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil { // as a terminal does it
				t.Fatal(err)
			}
			if code := exitCode(await.Exit(t, cmd)); code != 130 || !strings.Contains(out.String(), "demo: interrupted; what was made in "+into+" is removed") {
				t.Errorf("exit %d\n%s", code, out.String())
			}
			left, err := os.ReadDir(into)
			if there && (err != nil || len(left) != 1) || !there && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// TestBuildWithoutNetwork: what is missing is said once, in words.
func TestBuildWithoutNetwork(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("./build", filepath.Join(dir, "bin"))
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOMODCACHE="+filepath.Join(dir, "modules"))
	out, err := await.Output(t, cmd)
	if exitCode(err) != 2 || strings.Count(out, "\n") != 3 || !strings.Contains(out, "comes from the module proxy that `go env GOPROXY` names") {
		t.Errorf("%v\n%s", err, out)
	}
}
