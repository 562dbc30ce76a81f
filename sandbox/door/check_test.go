package door

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/tier"
	"git-ward/internal/token"

	"github.com/rs/zerolog"
)

func TestCheck(t *testing.T) {
	tier.First(t, "it pushes much, or waits for a client to be given up")
	t.Parallel()
	good := strings.Repeat("k", 32)
	key := func(text string, mode os.FileMode) func(t *testing.T, bare string) {
		return func(t *testing.T, bare string) { write(t, filepath.Join(bare, token.KeyFile), text, mode) }
	}
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, bare string)
		want  string // in the error
		hint  string
	}{
		{"good", func(*testing.T, string) {}, "", ""},
		{"group reads", key(good, 0o640), "has mode 0640, not 0600", "git ward init --bare"},
		{"world reads", key(good, 0o644), "has mode 0644, not 0600", "git ward init --bare"},
		{"short", key(good[1:], 0o600), "has 31 bytes", "git ward init --bare"},
		{"huge", key(strings.Repeat("k", 5000), 0o600), "has 5000 bytes", "git ward init --bare"},
		{"missing", func(t *testing.T, bare string) { os.Remove(filepath.Join(bare, token.KeyFile)) }, "no such file", "git ward init --bare"},
		{"a link", func(t *testing.T, bare string) {
			path := filepath.Join(bare, token.KeyFile)
			os.Rename(path, path+"2")
			os.Symlink(path+"2", path)
		}, "too many levels of symbolic links", "git ward init --bare"},
		{"a pipe", func(t *testing.T, bare string) {
			path := filepath.Join(bare, token.KeyFile)
			os.Remove(path)
			syscall.Mkfifo(path, 0o600)
		}, "is not a regular file", "git ward init --bare"},
		{"no hook", func(t *testing.T, bare string) { os.Remove(filepath.Join(bare, "hooks/pre-receive")) }, "pre-receive does not run", "git ward init --bare"},
		{"hook off", func(t *testing.T, bare string) { os.Chmod(filepath.Join(bare, "hooks/post-receive"), 0o644) }, "post-receive does not run", "git ward init --bare"},
		{"hooks elsewhere", func(t *testing.T, bare string) { run(t, bare, "git", "config", "core.hooksPath", "/nonexistent") }, "git would run /nonexistent/pre-receive", "git ward init --bare"},
		{"hooks named", func(t *testing.T, bare string) { run(t, bare, "git", "config", "core.hooksPath", "hooks") }, "", ""},
		{"not bare", func(t *testing.T, bare string) { run(t, bare, "git", "config", "core.bare", "false") }, "is not a bare git repository", "git ward init --bare"},
		{"no repository", func(t *testing.T, bare string) { os.Remove(filepath.Join(bare, "HEAD")) }, "is not a bare git repository", "git ward init --bare"},
		{"another's key", func(t *testing.T, bare string) { chown(t, filepath.Join(bare, token.KeyFile)) }, "belongs to user id 65534", "git ward init --bare"},
		{"another's", func(t *testing.T, bare string) { chown(t, bare) }, "belongs to user nobody", "sudo -u nobody git ward launch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bare := newBare(t)
			test.spoil(t, bare)
			err := Check(t.Context(), bare)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var hinted *diag.Hinted
			if !errors.As(err, &hinted) || !strings.Contains(err.Error(), test.want) || !strings.Contains(hinted.Hint, test.hint) {
				t.Errorf("error %v, want %q with the hint %q", err, test.want, test.hint)
			}
		})
	}
}

func chown(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give files away")
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
}

// TestLongDirectory: the limit of sockaddr_un is named, and nothing is left.
func TestLongDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Listen(Config{Bare: newBare(t), Dir: dir, Settings: testSettings(t), Log: zerolog.Nop()})
	if err == nil || !strings.Contains(err.Error(), "too long for a unix socket") {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
