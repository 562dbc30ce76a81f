package hosting

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/gittest"
	"git-ward/internal/tier"
)

// Three users over gitolite, which has one account for all: principal and name are
// right in the audit; no variable of a client's counts, nor a user of the machine
// who sets it himself; a hook that looks at its own $0 runs as before.
func TestGitolite(t *testing.T) {
	tier.Full(t, "it makes users of this machine, or starts a server of git")
	needs(t, "sshd", "ssh", "ssh-keygen", "gitolite")
	_, users := newAccounts(t, "git", "loc")
	git := users["git"]
	s := newSSH(t, git)
	s.key("admin")
	for _, name := range []string{"pat", "mo", "robo", "eve"} {
		s.key(name)
	}
	if out, err := git.run(t, nil, "gitolite", "setup", "-pk", s.path("admin.pub")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := s.client("admin", "/gitolite-admin", `git clone -q "$1" a; cd a; cp "$KEYS"/pat.pub "$KEYS"/mo.pub "$KEYS"/robo.pub "$KEYS"/eve.pub keydir/
printf 'repo proj\n    RW+ = pat mo robo eve\n' >>conf/gitolite.conf; git add .; git commit -qm users; git push -q origin HEAD:master`, "KEYS="+s.dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bare := filepath.Join(git.home, "repositories/proj.git")
	h := &host{t, git.home, bare}
	// The project's own hook finds its library beside it.
	git.script(t, filepath.Join(bare, "hooks/lib.sh"), "say() { echo \"$(basename \"$0\") by $GL_USER\"; }\n")
	git.script(t, filepath.Join(bare, "hooks/pre-receive"), "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\nsay\ncat >/dev/null\n")
	if out, err := git.run(t, nil, "git-ward", "init", "--bare", bare); err != nil || !strings.Contains(out, "hooks.chained/pre-receive") {
		t.Fatalf("%v\n%s", err, out)
	}
	// Without the setting, nobody knows who it is, and the refusal says what to write.
	out, err = s.client("pat", "/proj", pushScript, "REF=main")
	if err == nil || !strings.Contains(out, `write from = "GL_USER"`) || h.last().Principal != "unknown" {
		t.Errorf("%v\n%s\n%v", err, out, h.last())
	}
	h.identity("from = \"GL_USER\"\npm = [\"pat\"]\nagents = [\"robo\"]\nmembers = [\"mo\"]")
	for _, c := range []struct{ key, ref, want string }{
		{"pat", "main", "pm pat accepted main"},
		{"robo", "agent/x", "agent robo accepted agent/x"},
		{"robo", "main", "agent robo refused main"},
		{"mo", "topic", "member mo accepted topic"},
		{"mo", "main", "member mo refused main"},
		{"eve", "main", "unknown eve refused main"},
	} {
		out, err := s.client(c.key, "/proj", pushScript, "REF="+c.ref, "GL_USER=pat", "LC_EVIL=pat")
		if got := h.last().String(); got != c.want || (err == nil) != strings.Contains(c.want, "accepted") {
			t.Errorf("%s: audit has %q, want %q: %v\n%s", c.key, got, c.want, err, out)
		}
		if err == nil && !strings.Contains(out, "pre-receive by "+c.key) {
			t.Errorf("the project's hook did not run as itself:\n%s", out)
		}
	}
	// A user of the machine sets the variable himself; the repository is open to
	// him, by the admin's mistake.
	must(t, "chmod", "-R", "a+rwX", git.home)
	must(t, "chmod", "0600", filepath.Join(bare, "ward/door.key"))
	for _, env := range [][]string{{"GL_USER=pat"}, {"GL_USER=pat", "GL_REPO=proj", "SSH_CONNECTION=127.0.0.1 1 127.0.0.1 2"}, nil} {
		out, err := h.pushAs(users["loc"], env, "main")
		if err == nil || !strings.Contains(out, "may not push") {
			t.Errorf("%v: %v\n%s", env, err, out)
		}
	}
	must(t, "chown", "-R", git.name, bare)
	must(t, "chmod", "-R", "go-rwx", bare)
	// The owner himself, in a shell of his own, has no name unless he gives one.
	if out, err := h.pushAs(git, nil, "main"); err == nil || !strings.Contains(out, "GL_USER is not set") {
		t.Errorf("%v\n%s", err, out)
	}
	// Gitolite makes its hooks anew; Ward's stay, and if not, everybody says so.
	if out, err := git.run(t, nil, "gitolite", "setup"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := s.client("pat", "/proj", pushScript, "REF=main"); err != nil || h.last().String() != "pm pat accepted main" {
		t.Errorf("%v\n%s", err, out)
	}
	h.whole()
}

// script writes an executable file of the user's.
func (a *account) script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, path, text)
	if err := os.Chown(path, int(a.cred.Uid), int(a.cred.Gid)); err != nil {
		t.Fatal(err)
	}
}
