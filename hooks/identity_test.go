package hooks_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Root is not the owner: its push into a user's repository is refused, and the
// record of that is written as the owner, who must be able to extend it.
func TestRootPushesIntoAUsersRepository(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a repository to another user")
	}
	p := newPair(t)
	const nobody = 65534
	err := filepath.WalkDir(p.Bare, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(p.Bare); dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.Commit("f", "x")
	// Git itself refuses, too, until root says that it trusts the directory.
	global := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(global, []byte("[safe]\n\tdirectory = *\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	trust := []string{"GIT_CONFIG_GLOBAL=" + global}
	out, err := p.Try(p.Work, trust, "", "git", "push", "origin", "main")
	if err == nil || !strings.Contains(out, "user id 0 may not push") || !strings.Contains(out, "sudo -u OWNER") {
		t.Fatalf("%v\n%s", err, out)
	}
	chain, err := os.Stat(filepath.Join(p.Bare, "refs/ward/audit"))
	if err != nil {
		t.Fatal(err)
	}
	if uid := chain.Sys().(*syscall.Stat_t).Uid; uid != nobody {
		t.Errorf("the audit belongs to user %d now", uid)
	}
	if out, err := p.Try(p.Bare, trust, "", "git-ward", "log"); err != nil || !strings.Contains(out, "unknown  refused") {
		t.Error(err, out)
	}

	// On the list of [identity] pm, root may push.
	config := filepath.Join(p.Bare, "ward/config.toml")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(data), "pm = []", `pm = ["root"]`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := p.Try(p.Work, trust, "", "git", "push", "origin", "main"); err != nil {
		t.Fatal(out)
	}
}
