package doctor

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"git-ward/internal/atomicfile"
	"git-ward/internal/gittest"
	"git-ward/internal/runstate"
	"git-ward/internal/tier"
)

// The hooks of a repository that was made by another build are named, with the remedy;
// those of this build are fine.
func TestHooksOfAnotherVersion(t *testing.T) {
	tier.First(t, "it builds Ward's programs")
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
	last := len(data) - 1
	for what, content := range map[string][]byte{"a longer": append(bytes.Clone(data), 0), "an equally long": append(bytes.Clone(data[:last]), data[last]+1)} {
		other := filepath.Join(t.TempDir(), "ward-hook")
		if err := atomicfile.Write(other, content, 0o755); err != nil {
			t.Fatal(err)
		}
		if got := said(other); !strings.HasPrefix(got, "warning "+p.Bare+"/hooks/pre-receive is from another build") || !strings.Contains(got, "git ward init --update --bare "+p.Bare) {
			t.Errorf("of %s build: %s", what, got)
		}
	}
	if got := said(filepath.Join(t.TempDir(), "none")); !strings.HasPrefix(got, "warning is not beside") {
		t.Errorf("of no build: %s", got)
	}
}

// A launcher goes on with the program that it was started from: one that an upgrade has
// replaced is named, with the way to the new one. Its stand-in has the lock open, as it has.
func TestReplacedLauncher(t *testing.T) {
	bare, dir := t.TempDir(), t.TempDir()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "sleep") // its own name, by which programs of many names know theirs
	install := func() {
		if err := atomicfile.Write(program, data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	install()
	if err := os.Mkdir(filepath.Join(bare, "ward"), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(bare, runstate.LockPath))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	gate, err := os.Open(runstate.Gate(bare))
	if err == nil {
		err = unix.Flock(int(gate.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	cmd := exec.Command(program, "600")
	cmd.ExtraFiles = []*os.File{lock}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := lock.Write(runstate.Launcher{PID: cmd.Process.Pid}.Text()); err != nil {
		t.Fatal(err)
	}
	said := func() (list []Finding) {
		for _, f := range Version(t.Context(), bare, program) {
			if f.Thing == "launcher's version" {
				list = append(list, f)
			}
		}
		return list
	}
	if got := said(); len(got) != 0 {
		t.Errorf("of its own program: %+v", got)
	}
	install()
	got := said()
	if len(got) != 1 || got[0].State != Warning || !strings.Contains(got[0].Detail, strconv.Itoa(cmd.Process.Pid)) || !strings.HasPrefix(got[0].Mend, "git ward launch --stop --bare "+bare) {
		t.Errorf("replaced: %+v", got)
	}
}
