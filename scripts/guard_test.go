package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/gittest"
)

// behind runs a line of the shell behind scripts/guard, and returns what it printed and the
// user's HOME.
func behind(t *testing.T, dir, line string, as ...string) (string, string) {
	t.Helper()
	cmd, home := guarded(t, dir, line, as...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out), home
}

// guarded is a line of the shell behind scripts/guard, in a directory of its own with a
// tree below it, as a user whose HOME has one file and whose PATH has a tac of their own
// and one strange program.
func guarded(t *testing.T, dir, line string, as ...string) (*exec.Cmd, string) {
	t.Helper()
	guard := filepath.Join(dir, "tree/scripts/guard")
	if err := os.MkdirAll(filepath.Dir(guard), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"home/precious": "", "home/.gitconfig": "[user]\nname = Me\n", "strange/project": "#!/bin/sh\n", "first/tac": "#!/bin/sh\necho my tac\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		gittest.Program(t, path, text)
	}
	// A copy, because the tree may lie where another user cannot come.
	for _, name := range []string{"guard", "commands", "environment"} {
		text, err := os.ReadFile(name) // so that go test knows what it read
		if err != nil {
			t.Fatal(err)
		}
		gittest.Program(t, filepath.Join(filepath.Dir(guard), name), string(text))
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
	command := append(as, guard, within, "sh", "-c", line, "sh", home)
	cmd := exec.Command(command[0], command[1:]...)
	// In a directory that every user may be in.
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Join(dir, "first")+":"+os.Getenv("PATH")+":"+filepath.Join(dir, "strange"), "A_SECRET=of the user's")
	if len(as) > 0 {
		cmd.Env = append(cmd.Env, "GOCACHE=", "GOMODCACHE=") // below HOME, as everybody's
	}
	return cmd, home
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
		rm -rf "$1"; touch "$1/new" /usr/new /opt/new "`+tree+`/new"
		rm -rf /etc/hostname "$HOME"
		command -v project; git config user.name; env | grep SECRET
		printf '[user]\n\tname = Machine\n' >/etc/gitconfig; git config user.name
		mkdir "$HOME" && echo hers >"$HOME/new" && echo theirs >"$TMPDIR/new" && cat "$HOME/new" "$TMPDIR/new"`)
	if !strings.HasSuffix(out, "hers\ntheirs\n") || strings.Contains(out, "of the user's") || strings.Contains(out, "/project\n") || strings.Contains(out, "Me\n") || strings.Contains(out, "Machine\n") {
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

// TestGuardShowsTheTree: a tree or a program below a directory that the guard covers with one
// of its own, or leaves writable, is there all the same, and can be read only, whatever the
// umask; of the run's directory nothing stays behind.
func TestGuardShowsTheTree(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root has a mount namespace that podman works in")
	}
	for _, place := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		dir, err := os.MkdirTemp(place, "ward-guard-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		tree, lab := filepath.Join(dir, "tree"), filepath.Join(dir, "lab")
		if err := errors.Join(os.Mkdir(lab, 0o755), gittest.WriteProgram(filepath.Join(lab, "kubectl"), "a lab's\n")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("WARD_KUBE_LAB", lab)
		before := syscall.Umask(0o077)
		out, _ := behind(t, dir, `tac; cd `+tree+` && tail -n 1 scripts/guard; umask; cat "$WARD_KUBE_LAB/kubectl"; touch new scripts/new "$WARD_KUBE_LAB/new"; touch bin/new "$TMPDIR/new" && echo written`)
		syscall.Umask(before)
		if !strings.HasSuffix(out, "written\n") || !strings.HasPrefix(out, "my tac\nexit $code\n0077\na lab's\n") {
			t.Error(out)
		}
		for _, path := range []string{tree + "/new", tree + "/scripts/new", lab + "/new"} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s was written\n%s", path, out)
			}
		}
		// Behind another guard, they are one.
		stays, err := os.Lstat(filepath.Join("/var/lib/containers/ward-tests", filepath.Base(dir)))
		if there, _ := os.Lstat(dir); err == nil && !os.SameFile(stays, there) {
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
	below := filepath.Join(dir, "cache/below")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", below, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(below, 0) })
	if err := os.WriteFile(filepath.Join(below, "file"), []byte("of the mount\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", filepath.Dir(below))
	if out, _ := behind(t, dir, `cat "$GOCACHE/below/file"`); !strings.HasSuffix(out, "of the mount\n") {
		t.Error(out)
	}
}

// TestGuardKeepsNetworks: a network that is mounted behind the guard, as podman does it, is
// gone with it, and so is the file on which it was mounted, however the guard has ended.
func TestGuardKeepsNetworks(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root has a mount namespace that podman works in")
	}
	dir := t.TempDir()
	place := "/run/netns/netns-of-" + filepath.Base(filepath.Dir(dir)) + "-" + strconv.Itoa(os.Getpid())
	t.Cleanup(func() { os.Remove(place) })
	cmd, _ := guarded(t, dir, `mkdir -p /run/netns && : >`+place+` && unshare --net=`+place+` true && nsenter --net=`+place+` true && echo up >"$TMPDIR/up"; exec sleep 86400`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "a network is mounted", func() bool { _, err := os.Stat(filepath.Join(dir, "within/tmp/up")); return err == nil })
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	await.Exit(t, cmd)
	if _, err := os.Lstat(place); err == nil {
		t.Errorf("%s is left", place)
	}
}

// TestGuardEnds: a signal to the guard alone ends the command at once with all that it began,
// in whichever session that is. A command has the signals of a new program, and no file of
// scripts/test's open.
func TestGuardEnds(t *testing.T) {
	users := [][]string{nil, {"65534"}}
	if os.Getuid() != 0 {
		users = [][]string{nil}
	}
	for _, as := range users {
		dir := t.TempDir()
		cmd, _ := guarded(t, dir, `grep SigIgn /proc/self/status; [ ! -e /proc/$$/fd/9 ] || echo it has the lock of scripts/test; setsid -f sh -c 'echo $$ >"$TMPDIR/.pid"; mv "$TMPDIR/.pid" "$TMPDIR/pid"; exec sleep 3600'; sleep 3600`, as...)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Args = append([]string{"sh", "-c", `trap "" INT HUP; exec 9</dev/null "$@"`, "sh"}, cmd.Args...)
		cmd.Path = "/bin/sh"
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "within/tmp/pid")
		await.True(t, "the command began something", func() bool { _, err := os.Stat(file); return err == nil })
		pid, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 143 || !strings.Contains(out.String(), "SigIgn:\t0000000000000000\n") || strings.Contains(out.String(), "lock") {
			t.Errorf("exit %d\n%s", code, &out)
		}
		if line, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/cmdline"); err == nil && len(line) > 0 {
			t.Errorf("left running: %q", line)
		}
	}
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
