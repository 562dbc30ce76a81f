package scripts_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// programs makes a directory of stand-ins for Ward's programs, each of which prints a
// version: what they are is nothing to an installation.
func programs(t *testing.T, version string, more ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range append([]string{"git-ward", "git-ward-launch", "git-ward-mcp", "ward-hook", "ward-agent", "ward-inside", "ward-watcher"}, more...) {
		write(t, filepath.Join(dir, name), fmt.Sprintf(standIn, name, version), 0o755)
	}
	return dir
}

// standIn says its version, and makes a manual as git-ward does.
const standIn = `#!/bin/sh
case $1 in
version) echo %[1]s %[2]s ;;
manual)
	mkdir -p "$2/man/man1" "$2/bash" "$2/zsh" "$2/fish"
	for file in man/man1/git-ward.1 man/man1/git-ward-%[2]s.1 bash/git-ward zsh/_git-ward fish/git-ward.fish; do
		printf '.TH GIT-WARD 1\n.SH NAME\ngit\\-ward \\- version %[2]s\n' >"$2/$file"
	done ;;
esac
`

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if mode == 0o755 {
		gittest.Program(t, path, text)
		return
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// script makes a command of a script of this directory, with an environment that has
// nothing of the machine's.
func script(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	if err := gittest.Tree(); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	return cmd
}

// run runs a script that must exit with a code, and returns what it said.
func run(t *testing.T, code int, name string, args ...string) string {
	t.Helper()
	out, err := script(t, name, args...).CombinedOutput()
	if got := exitCode(err); got != code {
		t.Fatalf("%s %q exits with %d (%v), not %d:\n%s", name, args, got, err, code, out)
	}
	return string(out)
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return -1
}

// tree is all that lies below a directory: each path with its mode and content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content []byte
		if d.Type().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&text, "%s %s %q\n", strings.TrimPrefix(path, dir), info.Mode(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// says runs an installed git-ward.
func says(t *testing.T, prefix string) string {
	t.Helper()
	out, err := exec.Command(filepath.Join(prefix, "bin/git-ward"), "version").CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	return strings.TrimSpace(string(out))
}

// somebodys makes a prefix in which somebody else's files are already.
func somebodys(t *testing.T) (prefix, before string) {
	t.Helper()
	prefix = filepath.Join(t.TempDir(), "local")
	write(t, filepath.Join(prefix, "bin/theirs"), "theirs\n", 0o755)
	write(t, filepath.Join(prefix, "share/man/man1/theirs.1"), "theirs\n", 0o644)
	return prefix, tree(t, prefix)
}

// A prefix is, after install and uninstall, what it was: also after an upgrade and back.
func TestInstallUpgradeUninstall(t *testing.T) {
	tier.First(t, "seven installations take some seconds")
	prefix, before := somebodys(t)
	one, two := programs(t, "one", "git-ward-gone"), programs(t, "two")
	run(t, 0, "install", "--prefix", prefix, "--from", one)
	if got := says(t, prefix); got != "git-ward one" {
		t.Errorf("it says %q", got)
	}
	again := tree(t, prefix)
	if out := run(t, 0, "install", "--prefix", prefix, "--from", one); !strings.Contains(out, "already") || tree(t, prefix) != again {
		t.Errorf("a second time is none: %s", out)
	}
	run(t, 0, "install", "--prefix="+prefix, "--from="+two)
	if got := says(t, prefix); got != "git-ward two" {
		t.Errorf("after the upgrade it says %q", got)
	}
	if _, err := os.Lstat(filepath.Join(prefix, "lib/ward/git-ward-gone")); err == nil {
		t.Error("what the new version has not is there still")
	}
	run(t, 0, "install", "--prefix", prefix, "--from", one)
	if tree(t, prefix) != again {
		t.Error("an upgrade and back is not the installation that was")
	}
	out, err := exec.Command(filepath.Join(prefix, "lib/ward/uninstall")).CombinedOutput()
	if err != nil || tree(t, prefix) != before {
		t.Errorf("%v %s\nleft:\n%s", err, out, tree(t, prefix))
	}
	run(t, 2, "uninstall", "--prefix", prefix) // nothing is there any more
}

// What somebody made or changed is named, and nothing else changes then.
func TestForeignFilesStay(t *testing.T) {
	tier.Full(t, "a dozen installations")
	prefix, before := somebodys(t)
	from := programs(t, "one")
	mine := filepath.Join(prefix, "bin/git-ward")
	write(t, mine, "mine\n", 0o755)
	held := tree(t, prefix)
	if out := run(t, 1, "install", "--prefix", prefix, "--from", from); !strings.Contains(out, mine) {
		t.Errorf("it does not name %s: %s", mine, out)
	}
	run(t, 0, "uninstall", "--prefix", prefix) // of the install that refused
	if got := tree(t, prefix); got != held {
		t.Errorf("a refused install leaves\n%s, not\n%s", got, held)
	}
	run(t, 0, "install", "--prefix", prefix, "--from", from, "--force")
	changed := filepath.Join(prefix, "lib/systemd/system/ward-launch@.service")
	write(t, changed, "changed\n", 0o644)
	installed := tree(t, prefix)
	for _, refused := range [][]string{{"uninstall"}, {"install", "--from", programs(t, "two")}} {
		out := run(t, 1, refused[0], append(refused[1:], "--prefix", prefix)...)
		if !strings.Contains(out, changed) || !strings.Contains(out, "--force") || tree(t, prefix) != installed {
			t.Errorf("%s: %s", refused, out)
		}
	}
	write(t, filepath.Join(prefix, "lib/ward/notes"), "theirs\n", 0o644)
	run(t, 0, "uninstall", "--prefix", prefix, "--force")
	if err := os.RemoveAll(filepath.Join(prefix, "lib")); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, prefix); got != before {
		t.Errorf("left:\n%s", got)
	}
}

// TestSomebodysSameBytes: a file that stood there before has its owner, whatever its bytes are,
// and so has what is behind a link.
func TestSomebodysSameBytes(t *testing.T) {
	tier.First(t, "installations take some seconds")
	prefix, _ := somebodys(t)
	from := programs(t, "one")
	license, err := os.ReadFile("../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(prefix, "share/doc/ward/LICENSE")
	write(t, mine, string(license), 0o644)
	before := tree(t, prefix)
	if out := run(t, 1, "install", "--prefix", prefix, "--from", from); !strings.Contains(out, "  "+mine+"\n") {
		t.Errorf("it does not name %s: %s", mine, out)
	}
	run(t, 0, "uninstall", "--prefix", prefix) // of the install that refused
	if got := tree(t, prefix); got != before {
		t.Errorf("left:\n%s, not\n%s", got, before)
	}

	elsewhere, doc := filepath.Join(t.TempDir(), "docs"), filepath.Dir(mine)
	link := func(path string) {
		t.Helper()
		if err := os.Rename(path, elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, path); err != nil {
			t.Fatal(err)
		}
	}
	back := func(path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(elsewhere, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	link(doc)
	for _, force := range [][]string{nil, {"--force"}} {
		if out := run(t, 2, "install", append(force, "--prefix", prefix, "--from", from)...); !strings.Contains(out, "nothing was changed: "+doc+" is a link") {
			t.Error(out)
		}
	}
	run(t, 0, "uninstall", "--prefix", prefix)
	back(doc)
	run(t, 0, "install", "--prefix", prefix, "--from", from)
	installed := tree(t, prefix)
	lib := filepath.Join(prefix, "lib")
	link(lib)
	for _, line := range [][]string{{"install", "--from", from}, {"uninstall"}} {
		if out := run(t, 2, line[0], append(line[1:], "--prefix", prefix)...); !strings.Contains(out, lib+" is a link") {
			t.Error(out)
		}
	}
	back(lib)
	if got := tree(t, prefix); got != installed {
		t.Errorf("left:\n%s, not\n%s", got, installed)
	}
	link(doc)
	behind := tree(t, elsewhere)
	if out := run(t, 0, "uninstall", "--prefix", prefix); !strings.Contains(out, "what is behind "+doc+" stays") || tree(t, elsewhere) != behind {
		t.Error(out)
	}
}

// TestNamesBesideOurs: what lies beside the paths of an install is read, written through and
// removed by nobody, whatever its name is.
func TestNamesBesideOurs(t *testing.T) {
	tier.Full(t, "three installations")
	prefix, _ := somebodys(t)
	from := programs(t, "one")
	thesis := filepath.Join(t.TempDir(), "thesis")
	write(t, thesis, "mine\n", 0o644)
	lib := filepath.Join(prefix, "lib/ward")
	for _, path := range []string{filepath.Join(prefix, "bin/git-ward.ward-new"), filepath.Join(lib, "ward-hook.ward-new")} {
		write(t, path, "mine\n", 0o644)
	}
	if err := os.Symlink(thesis, filepath.Join(lib, "manifest.ward-new")); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(lib, "manifest")
	write(t, manifest, "my cargo manifest\n", 0o644)
	mine := tree(t, prefix)
	if out := run(t, 2, "install", "--prefix", prefix, "--from", from); !strings.Contains(out, "nothing was changed: "+manifest) || tree(t, prefix) != mine {
		t.Errorf("%s\n%s, not\n%s", out, tree(t, prefix), mine)
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	before := tree(t, prefix)
	run(t, 0, "install", "--prefix", prefix, "--from", from)
	run(t, 0, "uninstall", "--prefix", prefix)
	if got := tree(t, prefix); got != before {
		t.Errorf("left:\n%s, not\n%s", got, before)
	}
	if data, err := os.ReadFile(thesis); string(data) != "mine\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// Whenever an install or an uninstall is killed, the next one of either goes on, and
// uninstall leaves nothing (story 28). A program is at each time one version's, whole.
func TestKilledInstall(t *testing.T) {
	tier.Full(t, "forty installations that are killed")
	one, two := programs(t, "one"), programs(t, "two")
	random := rand.New(rand.NewPCG(tier.Seed(t), 0))
	prefix, before := somebodys(t)
	run(t, 0, "install", "--prefix", prefix, "--from", one)
	for i := range 10 {
		after := time.Duration(random.Int64N(int64(time.Second)))
		kill(t, after, "install", "--prefix", prefix, "--from", two)
		if got := says(t, prefix); got != "git-ward one" && got != "git-ward two" {
			t.Fatalf("killed after %s, it says %q", after, got)
		}
		if i%2 == 0 {
			run(t, 0, "install", "--prefix", prefix, "--from", two)
			if got := says(t, prefix); got != "git-ward two" {
				t.Fatalf("killed after %s and run again, it says %q", after, got)
			}
		}
		kill(t, after/2, "uninstall", "--prefix", prefix)
		if out, err := script(t, "uninstall", "--prefix", prefix).CombinedOutput(); err != nil && !strings.Contains(string(out), "nothing of scripts/install's") {
			t.Fatalf("killed after %s: %v\n%s", after, err, out)
		}
		if got := tree(t, prefix); got != before {
			t.Fatalf("killed after %s, uninstall leaves\n%s", after, got)
		}
		kill(t, after, "install", "--prefix", prefix, "--from", one) // where nothing was
		run(t, 0, "install", "--prefix", prefix, "--from", one)
	}
}

// kill runs a script and kills it and its children after a time.
func kill(t *testing.T, after time.Duration, name string, args ...string) {
	t.Helper()
	cmd := script(t, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after) // the random moment itself
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
}

// Two at once come one after the other.
func TestTwoInstalls(t *testing.T) {
	tier.First(t, "installations take some seconds")
	prefix, before := somebodys(t)
	froms := []string{programs(t, "one"), programs(t, "two")}
	done := make(chan string)
	for _, from := range froms {
		cmd := script(t, "install", "--prefix", prefix, "--from", from)
		go func() {
			out, err := cmd.CombinedOutput()
			done <- fmt.Sprint(err, string(out))
		}()
	}
	for range froms {
		if out := <-done; !strings.HasPrefix(out, "<nil>") {
			t.Error(out)
		}
	}
	version := strings.Fields(says(t, prefix))[1]
	for _, name := range []string{"ward-hook", "ward-agent", "git-ward-launch"} {
		out, err := exec.Command(filepath.Join(prefix, "lib/ward", name), "version").Output()
		if err != nil || string(out) != name+" "+version+"\n" {
			t.Errorf("git-ward is %s, and %s says %q, %v", version, name, out, err)
		}
	}
	run(t, 0, "uninstall", "--prefix", prefix)
	if got := tree(t, prefix); got != before {
		t.Errorf("left:\n%s", got)
	}
}

// What it is asked wrongly is one line of trouble, and changes nothing.
func TestInstallSaysWhatIsWrong(t *testing.T) {
	from := programs(t, "one")
	for _, args := range [][]string{
		{"--prefix"}, {"--prefix", "relative"}, {"--prefix", "/a b"}, {"--prefix", "/a/../b"}, {"--prefix", "/a%i"}, {"--prefix", ""},
		{"--nonsense"}, {"word"}, {"--from", "/nonexistent"}, {"--from", t.TempDir()},
	} {
		out := run(t, 2, "install", append([]string{"--from", from, "--destdir", filepath.Join(t.TempDir(), "none")}, args...)...)
		if !strings.HasPrefix(out, "install: error: ") && !strings.Contains(out, "\ninstall: error: ") {
			t.Errorf("%q: %s", args, out)
		}
	}
	for _, name := range []string{"install", "uninstall"} {
		if out := run(t, 0, name, "--help"); !strings.Contains(out, "usage: scripts/"+name) {
			t.Errorf("%s --help: %s", name, out)
		}
	}
}

// A manifest that leads elsewhere is refused before anything goes.
func TestHostileManifest(t *testing.T) {
	for _, line := range []string{"file 0 ../../victim", "file 0 lib/../../../victim", "dir - /a/../victim", "rm -rf", "file 0 a b"} {
		prefix := t.TempDir()
		victim := filepath.Join(filepath.Dir(prefix), "victim")
		write(t, victim, "theirs\n", 0o644)
		write(t, filepath.Join(prefix, "lib/ward/manifest"), line+"\n", 0o644)
		if out := run(t, 2, "uninstall", "--prefix", prefix, "--force"); !strings.Contains(out, "is not as scripts/install writes it") {
			t.Errorf("%q: %s", line, out)
		}
		if _, err := os.Stat(victim); err != nil {
			t.Error(err)
		}
	}
}
