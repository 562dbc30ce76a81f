package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	protocol "git-ward/protocols/forge"
	"git-ward/sandbox/forge"
)

// TestSettings: what [forge] names is a forge and a project on it, or a fault with its remedy;
// the token is in a file that nobody else reads.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	open, closed := filepath.Join(dir, "open"), filepath.Join(dir, "closed")
	for name, mode := range map[string]os.FileMode{open: 0o644, closed: 0o600} {
		if err := os.WriteFile(name, []byte("0123456789\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ kind, url, file, control, want string }{
		{"gitea", "https://forge.example.org/owner/project", closed, "ward", "https://forge.example.org owner project"},
		{"github", "https://forge.example.org/owner/project.git/", closed, "ward", "https://forge.example.org owner project"},
		{"gitea", "https://example.org/git/owner/project", closed, "ward", "https://example.org/git owner project"},
		{"gitlab", "https://example.org/group/part/project", closed, "ward", "https://example.org group/part project"},
		{"gitea", "", closed, "ward", "no forge is set"},
		{"gitea", "https://example.org/project", closed, "ward", "names no project"},
		{"gitea", "https://example.org/owner/project", "", "ward", "token_file"},
		{"gitea", "https://example.org/owner/project", open, "ward", "has mode 0644"},
		{"gitea", "https://example.org/owner/project", closed, "main", "the control branch is the project's branch"},
	} {
		s := config.Default()
		s.Forge.Kind, s.Forge.URL, s.Forge.TokenFile, s.Control.Branch = c.kind, c.url, c.file, c.control
		var v forge.Verbs
		at, err := settingsOf("/srv/git/project.git", s, &v)
		got := at.URL + " " + at.Owner + " " + at.Name
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %q: %s", c.kind, c.url, got)
		}
	}
}

// TestArguments: a dry run is of one look, and nothing stands behind the flags.
func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"--dry-run"}, {"--once", "x"}} {
		var out bytes.Buffer
		if err := run(t.Context(), &cli.Env{Args: args, Stdout: &out, Stderr: &out, Dir: t.TempDir()}, nil); !errors.Is(err, cli.ErrUsage) {
			t.Errorf("%q: %v\n%s", args, err, out.String())
		}
	}
}

// TestSay: what waits is said, and ends with exit 1.
func TestSay(t *testing.T) {
	var out bytes.Buffer
	env := &cli.Env{Stdout: &out}
	if say(env, protocol.Word{}) || !say(env, protocol.Word{Until: time.Unix(0, 0)}) || !strings.Contains(out.String(), "asked again by itself at") {
		t.Error(out.String())
	}
}
