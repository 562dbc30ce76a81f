package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// behind runs a line of the shell behind scripts/guard, in a directory of its own with a
// tree below it, as a user whose HOME has one file and whose PATH has one strange program.
// It returns what it printed and that HOME.
func behind(t *testing.T, dir, line string, as ...string) (string, string) {
	t.Helper()
	guard := filepath.Join(dir, "tree/scripts/guard")
	if err := os.MkdirAll(filepath.Dir(guard), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"home/precious": "", "home/.gitconfig": "[user]\nname = Me\n", "strange/project": "#!/bin/sh\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// A copy, because the tree may lie where another user cannot come.
	if out, err := exec.Command("cp", "guard", "commands", filepath.Dir(guard)).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	home, within := filepath.Join(dir, "home"), filepath.Join(dir, "within")
	if err := os.Mkdir(within, 0o755); err != nil {
		t.Fatal(err)
	}
	if len(as) > 0 {
		if err := exec.Command("chown", "-R", as[0], dir).Run(); err != nil {
			t.Fatal(err)
		}
		for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
			if err := os.Chmod(path, 0o755); err != nil { // the user must be able to traverse it
				t.Fatal(err)
			}
		}
		as = []string{"setpriv", "--reuid=" + as[0], "--clear-groups"}
	}
	as = append([]string{"nohup"}, as...)
	command := append(as, guard, within, "sh", "-c", line, "sh", home)
	cmd := exec.Command(command[0], command[1:]...)
	// In a directory that every user may be in.
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+os.Getenv("PATH")+":"+filepath.Join(dir, "strange"), "A_SECRET=of the user's")
	if len(as) > 1 {
		cmd.Env = append(cmd.Env, "GOCACHE=", "GOMODCACHE=") // below HOME, as everybody's
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out), home
}

// TestGuard: what a test does by a fault of ours reaches neither HOME nor the machine,
// and it sees neither the user's programs, settings nor secrets (TEST-2, TEST-3).
func TestGuard(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root has a mount namespace that podman works in")
	}
	tree, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	out, home := behind(t, t.TempDir(), `
		rm -rf "$1"; touch "$1/new" /usr/new /opt/new `+tree+`/new
		rm -rf /etc/hostname "$HOME"
		command -v project; git config user.name; env | grep SECRET
		mkdir "$HOME" && echo hers >"$HOME/new" && echo theirs >"$TMPDIR/new" && cat "$HOME/new" "$TMPDIR/new"`)
	if !strings.HasSuffix(out, "hers\ntheirs\n") || strings.Contains(out, "of the user's") || strings.Contains(out, "/project\n") || strings.Contains(out, "Me\n") {
		t.Error(out)
	}
	for _, path := range []string{home + "/precious", "/etc/hostname"} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	for _, path := range []string{home + "/new", "/usr/new", "/opt/new", tree + "/new"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was written\n%s", path, out)
		}
	}
}

// TestGuardHearsSignals: behind nohup, too, a signal ends a program that a test starts.
func TestGuardHearsSignals(t *testing.T) {
	for _, as := range [][]string{nil, {"65534"}} {
		if os.Getuid() != 0 && as != nil {
			t.Skip("SKIPPED: only root can become another user")
		}
		out, _ := behind(t, t.TempDir(), `grep SigIgn /proc/self/status`, as...)
		if !strings.Contains(out, "SigIgn:\t0000000000000000\n") {
			t.Error(out)
		}
	}
}

// TestGuardShowsTheTree: a tree, or a lab, below a directory that the guard covers with one
// of its own is there all the same, and can be read only; of the run's directory nothing
// stays behind.
func TestGuardShowsTheTree(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root has a mount namespace that podman works in")
	}
	for _, place := range []string{"/tmp", "/var/tmp"} {
		dir, err := os.MkdirTemp(place, "ward-guard-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		tree, lab := filepath.Join(dir, "tree"), filepath.Join(dir, "lab")
		if err := os.WriteFile(filepath.Join(mkdir(t, lab), "kubectl"), []byte("a lab's\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("WARD_KUBE_LAB", lab)
		out, _ := behind(t, dir, `cd `+tree+` && tail -n 1 scripts/guard && cat "$WARD_KUBE_LAB/kubectl"
			touch new scripts/new "$WARD_KUBE_LAB/new"; touch bin/new "$TMPDIR/new" && echo written`)
		if !strings.HasSuffix(out, "written\n") || !strings.HasPrefix(out, "exit $code\na lab's\n") {
			t.Error(out)
		}
		for _, path := range []string{tree + "/new", tree + "/scripts/new", lab + "/new"} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s was written\n%s", path, out)
			}
		}
		os.RemoveAll(dir) // behind a guard, /var/tmp is what stays of it
		if _, err := os.Lstat(filepath.Join("/var/lib/containers/ward-tests", filepath.Base(dir))); err == nil {
			t.Errorf("%s is there in what stays of /var/tmp", filepath.Base(dir))
		}
	}
}

// TestGuardShowsWhatIsMounted: what is mounted below a place that stays writable, as a
// network namespace below /run is, is there.
func TestGuardShowsWhatIsMounted(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root has a mount namespace that podman works in")
	}
	dir := t.TempDir()
	below := mkdir(t, filepath.Join(dir, "cache/below"))
	if err := syscall.Mount("tmpfs", below, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(below, 0) })
	if err := os.WriteFile(filepath.Join(below, "file"), []byte("of the mount\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", filepath.Dir(below))
	if out, _ := behind(t, dir, `cat "$GOCACHE/below/file"`); out != "of the mount\n" {
		t.Error(out)
	}
}

// mkdir makes a directory.
func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestGuardOfAUser: where nothing can be made read-only, what changed in HOME is said.
func TestGuardOfAUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root can become another user")
	}
	out, home := behind(t, t.TempDir(), `rm "$1/precious"; echo new >"$1/new"; echo "$HOME"`, "65534")
	if !strings.Contains(out, "HOME is watched") || !strings.Contains(out, home+"/new\n") || !strings.Contains(out, "\n"+filepath.Dir(home)+"/within/home\n") {
		t.Error(out)
	}
}
