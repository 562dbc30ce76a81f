package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

// shell runs a script in dir with an environment and returns what it printed.
func shell(t *testing.T, dir string, env []string, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// person is the environment of somebody with settings of their own.
func person(t *testing.T, settings string) (home string, env []string) {
	t.Helper()
	home = t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	return home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}
}

// TestPersonsOwnSettingsCount: what a clone's settings name is not run, and what the
// person's own name is, in its place too (GATE-7).
func TestPersonsOwnSettingsCount(t *testing.T) {
	home, env := person(t, "[core]\n\tsshCommand = mine-ssh\n\taskPass = mine-ask\n[credential]\n\thelper = mine-one\n\thelper = mine-two\n"+
		"[credential \"https://a.example\"]\n\thelper = mine-three\n[remote \"origin\"]\n\tuploadpack = mine-pack\n[protocol \"file\"]\n\tallow = always\n")
	top := filepath.Join(home, "clone")
	shell(t, home, env, `git init -q clone; cd clone
git config core.sshCommand theirs; git config core.askPass theirs; git config core.gitProxy theirs
git config credential.helper theirs; git config credential.https://b.example.helper theirs; git config protocol.ext.allow always
git config protocol.allow always; git config protocol.file.allow never
git config filter.x.clean theirs; git config diff.x.textconv theirs; git config core.fsmonitor theirs; git config core.hooksPath theirs
git config remote.origin.uploadpack theirs; git config remote.origin.receivepack theirs; git config gpg.program theirs
git config user.name local; git config remote.origin.url https://example.org/x; git config core.worktree /nowhere
git config merge.ward-lessons.driver 'git-ward lesson merge %O %A %B'; git config merge.other.driver 'git-ward lesson merge %O %A %B'`)
	c, err := InCheckout(t.Context(), top, append(env, "GIT_DIR=/elsewhere", "GIT_EXTERNAL_DIFF=theirs", "GIT_INDEX_FILE=/elsewhere"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"core.sshCommand": "mine-ssh", "core.askPass": "mine-ask", "core.hooksPath": "/dev/null", "core.fsmonitor": "false", "gpg.program": "gpg",
		"filter.x.clean": "", "diff.x.textconv": "cat", "protocol.ext.allow": "never", "protocol.allow": "user", "protocol.file.allow": "always",
		"protocol.git.allow": "never", "user.name": "local", "remote.origin.url": "https://example.org/x",
		"merge.ward-lessons.driver": "git-ward lesson merge %O %A %B", "merge.other.driver": "false",
	} {
		if got := shell(t, top, c.Env, "git config --get "+key); got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	helpers := strings.Split(shell(t, top, c.Env, "git config --get-urlmatch credential.helper https://a.example || true; git config --get-all credential.helper"), "\n")
	last := slices.Index(helpers, "theirs")
	if rest := strings.Join(helpers[last+1:], ","); !strings.HasSuffix(rest, ",,mine-one,mine-two") && !strings.HasSuffix(rest, ",mine-one,mine-two") {
		t.Errorf("the helpers are %q", helpers)
	}
	if got := c.args([]string{"fetch", "origin"}); got[1] != "--upload-pack=mine-pack" {
		t.Error(got)
	}
	if got := c.args([]string{"push", "origin"}); got[1] != "--receive-pack=git-receive-pack" {
		t.Error(got)
	}
	if got := shell(t, top, c.Env, "git rev-parse --show-toplevel; git rev-parse --absolute-git-dir"); got != top+"\n"+top+"/.git" {
		t.Errorf("git is elsewhere: %s", got)
	}
	text := c.Explain(os.ErrInvalid).Error()
	for _, key := range []string{"core.sshcommand", "filter.x.clean", "remote.origin.receivepack", "~/.gitconfig"} {
		if !strings.Contains(text, key) {
			t.Errorf("%q does not name %s", text, key)
		}
	}
	if strings.Contains(text, "user.name") || strings.Contains(text, "ward-lessons") {
		t.Errorf("%q names what counts", text)
	}
	agent, err := InCheckout(t.Context(), top, append(env, AgentVariable+"=/state"))
	if err != nil || len(agent.SetAside) > 0 || shell(t, top, agent.Env, "git config --get remote.origin.receivepack") != "theirs" {
		t.Error("an agent's own clone lost its door", err)
	}
}

// TestCredentialsComeFromThePerson: git asks the person's helpers and not the clone's.
func TestCredentialsComeFromThePerson(t *testing.T) {
	home, env := person(t, "[credential]\n\thelper = \"!f() { echo username=mine; echo password=mine; }; f\"\n")
	for _, key := range []string{"credential.helper", "credential.https://example.org.helper"} {
		dir := filepath.Base(key) + "x"
		shell(t, home, env, "git init -q '"+dir+"'; cd '"+dir+"'; git config '"+key+"' '!f() { touch "+home+"/ran; echo username=theirs; echo password=theirs; }; f'")
		top := filepath.Join(home, dir)
		c, err := InCheckout(t.Context(), top, env)
		if err != nil {
			t.Fatal(err)
		}
		got := shell(t, top, c.Env, `printf 'protocol=https\nhost=example.org\n\n' | git credential fill`)
		if _, err := os.Stat(home + "/ran"); err == nil || !strings.Contains(got, "username=mine") {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// TestNoTransport: a child that reads cannot be made to fetch, whatever the settings of
// the repository allow, a partial clone's missing objects included.
func TestNoTransport(t *testing.T) {
	home, env := person(t, "[user]\n\tname = x\n\temail = x@x\n")
	shell(t, home, env, `git init -q from; cd from; echo x > x; git add x; git commit -q -m x; git config uploadpack.allowFilter true; cd ..
git clone -q --no-checkout --filter=blob:none --no-local "file://$PWD/from" part 2>/dev/null; cd part
git config protocol.allow always; git config protocol.file.allow always; git config protocol.ext.allow always
printf '#!/bin/sh\ntouch `+home+`/ran\nexit 1\n' > ../trap; chmod +x ../trap; git config remote.origin.uploadpack "$PWD/../trap"`)
	r := Open(filepath.Join(home, "part", ".git"))
	if out, err := r.Output(t.Context(), "cat-file", "-p", "HEAD:x"); err == nil {
		t.Errorf("a missing object was fetched: %s", out)
	}
	if _, err := r.Output(t.Context(), "ls-remote", "ext::touch% "+home+"/ran"); err == nil {
		t.Error("ls-remote reached something")
	}
	if _, err := os.Stat(home + "/ran"); err == nil {
		t.Error("a program of the repository's choice ran")
	}
}

// TestDiscover: a bare repository that a checkout brought is not taken, and is where it
// is named or stands alone.
func TestDiscover(t *testing.T) {
	for _, v := range os.Environ() { // of a test that git itself started
		if name, _, _ := strings.Cut(v, "="); slices.Contains(local, name) {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
	home, env := person(t, "")
	shell(t, home, env, "git init -q work; git init -q --bare work/vendor/lib; git init -q --bare alone.git; mkdir -p work/sub none; git init -q --bare work/.git/modules/m")
	for dir, want := range map[string]string{
		"work": "work/.git", "work/sub": "work/.git", "work/vendor": "work/.git", "alone.git": "alone.git", "alone.git/refs": "alone.git",
		"work/.git": "work/.git", "work/.git/refs": "work/.git", "work/.git/modules/m": "work/.git/modules/m",
		"work/vendor/lib": "", "work/vendor/lib/refs": "", "none": "",
	} {
		r, err := Discover(t.Context(), filepath.Join(home, dir))
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: %s", dir, r.Dir)
		case want != "" && (err != nil || r.Dir != filepath.Join(home, want)):
			t.Errorf("%s: %v %v", dir, r, err)
		}
	}
	_, err := Discover(t.Context(), filepath.Join(home, "work/vendor/lib"))
	if err == nil || !strings.Contains(err.Error(), "git --git-dir=") {
		t.Errorf("no remedy: %v", err)
	}
	if r, err := Named(t.Context(), filepath.Join(home, "work/vendor/lib")); err != nil || r.Dir != filepath.Join(home, "work/vendor/lib") {
		t.Error(r, err)
	}
	t.Setenv("GIT_DIR", filepath.Join(home, "work/vendor/lib"))
	if r, err := Discover(t.Context(), filepath.Join(home, "work")); err != nil || r.Dir != filepath.Join(home, "work/vendor/lib") {
		t.Error("GIT_DIR is its user's word", r, err)
	}
	if r, err := Named(t.Context(), filepath.Join(home, "alone.git")); err != nil || r.Dir != filepath.Join(home, "alone.git") {
		t.Error("a named directory goes before GIT_DIR", r, err)
	}
}

// TestDiscoverAnothers: who asks in another user's repository, root too, is told whose it is
// instead of git's many lines, or that there is none.
func TestDiscoverAnothers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: root can give a repository away")
	}
	home, env := person(t, "")
	shell(t, home, env, "git init -q --bare theirs.git; git init -q work")
	if err := errors.Join(os.Chown(filepath.Join(home, "theirs.git"), 65534, -1), os.Chown(filepath.Join(home, "work/.git"), 54321, -1)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"theirs.git": "belongs to user nobody", "work": "belongs to user #54321"} {
		_, err := Named(t.Context(), filepath.Join(home, dir))
		var hinted *diag.Hinted
		if !errors.As(err, &hinted) || !strings.Contains(err.Error(), want) || !strings.Contains(hinted.Hint, "sudo -u") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestQuiet: the options stand where git takes them.
func TestQuiet(t *testing.T) {
	for in, want := range map[string]string{
		"log -1":                      "log --no-ext-diff --no-textconv -1",
		"-C diff show x":              "-C diff show --no-ext-diff --no-textconv x",
		"--literal-pathspecs diff -z": "--literal-pathspecs diff --no-ext-diff --no-textconv -z",
		"cat-file blob log":           "cat-file blob log",
		"-c a=b rev-list log":         "-c a=b rev-list log",
		"":                            "",
	} {
		if got := strings.Join(quiet(strings.Fields(in)), " "); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
