package door

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"git-ward/internal/config"
	"git-ward/internal/growth"
	"git-ward/internal/tier"
	"git-ward/internal/token"
)

// key is a door's.
var key = []byte(strings.Repeat("k", token.MinKey))

// TestRoom: what killed receive-packs left is bounded, and no push begins beyond that.
func TestRoom(t *testing.T) {
	bare := t.TempDir()
	s := &service{bare: bare, settings: config.Default(), meter: &meter{}}
	s.settings.Limits.AgentObjects = 1 << 20
	for n, want := range []bool{true, true, false} {
		dir := filepath.Join(bare, "objects", "tmp_objdir-incoming-"+string(rune('a'+n)), "pack")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tmp_pack_x"), make([]byte, 500_000), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.room(key); (err == nil) != want {
			t.Errorf("%d quarantines: %v", n+1, err)
		}
	}
}

// TestRoomShares: a worker that fills its share with what its ended pushes left is refused
// alone, with the bound and whose it is (MANY-1).
func TestRoomShares(t *testing.T) {
	bare := t.TempDir()
	left := func(name, who string, bytes int) {
		t.Helper()
		dir := filepath.Join(bare, "objects", "tmp_objdir-incoming-"+name, "pack")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "tmp_pack_x"), strings.Repeat("x", bytes), 0o644)
		if err := growth.Left(bare, filepath.Base(filepath.Dir(dir)), who); err != nil {
			t.Fatal(err)
		}
	}
	room := func(name string) string {
		s := &service{bare: bare, settings: config.Default(), meter: &meter{}, name: name}
		s.settings.Limits.AgentObjects = 1 << 20
		if err := s.room(key); err != nil {
			return err.Error()
		}
		return ""
	}
	const flood, other = "D-1.0123456789abcdef", "D-2.0123456789abcdef"
	left("a", "D-1", 2<<20)
	left("b", "D-2", 100_000)
	if got := room("D-1.fedcba9876543210"); !strings.HasPrefix(got, "pushes of D-1 that were ended left 2") || !strings.Contains(got, "more than 524288: its part of [limits] agent_objects (1048576) among 2") {
		t.Errorf("the next lease of it: %q", got)
	}
	for _, name := range []string{other, "D-3.0123456789abcdef", ""} {
		if got := room(name); got != "" {
			t.Errorf("%q is refused for %s: %s", name, flood, got)
		}
	}
	// A process of an agent's says that the flood is another's, or nobody's, or a person's.
	for _, name := range []string{other, "", "pm"} {
		forged := exec.Command("sleep", "3600")
		forged.Env = []string{"GIT_QUARANTINE_PATH=/x/tmp_objdir-incoming-a", token.IDVar + "=x", token.TokenVar + "=00"}
		if name != "" {
			forged.Env = append(forged.Env, token.PrincipalVar+"=agent", token.NameVar+"="+name)
		}
		if err := forged.Start(); err != nil {
			t.Fatal(err)
		}
		if got := room(other); got != "" {
			t.Errorf("as %q: %s", name, got)
		}
		if got := room(flood); !strings.HasPrefix(got, "pushes of D-1 ") {
			t.Errorf("as %q the flood is %q", name, got)
		}
		forged.Process.Kill()
		forged.Wait()
	}
	left("c", "D-2", 500_000)
	if got := room(other); !strings.HasPrefix(got, "pushes of D-2 ") {
		t.Error(got)
	}
	left("d", "", 2<<20)
	if got := room("D-3.0123456789abcdef"); !strings.HasPrefix(got, "pushes that were ended left 2") {
		t.Errorf("of nobody known: %q", got)
	}
}

// TestRoomOfWhom: what a push leaves that was ended, and killed, has whose it was.
func TestRoomOfWhom(t *testing.T) {
	tier.First(t, "it waits for git to be killed")
	t.Parallel()
	f := longer(t, func(f *fixture) bool {
		f.stop()
		f.open(Config{Bare: f.bare, Settings: f.door.config.Settings, Log: zerolog.New(f.log), Name: func() string { return "D-1.0123456789abcdef" }})
		f.hook("pre-receive", "trap '' TERM\n>ward/begun\nwhile :; do sleep 0.1; done\n")
		if out, err := f.push("HEAD:refs/heads/x"); err == nil {
			t.Errorf("it came in:\n%s", out)
		}
		f.records(1)
		_, err := os.Stat(filepath.Join(f.bare, "ward/begun"))
		return err == nil // else it was ended before its hook began
	})
	if left, err := growth.Quarantines(f.bare, func() map[string]string { return nil }); err != nil || left["D-1"] == 0 || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// The client is told why its push does not begin, without the host's directories.
func TestRoomIsTold(t *testing.T) {
	f := newFixture(t, func(c *config.Config) { c.Limits.AgentObjects = 1 << 10 })
	dir := filepath.Join(f.bare, "objects", "tmp_objdir-incoming-a", "pack")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "tmp_pack_x"), strings.Repeat("x", 2<<10), 0o644)
	out, err := f.push("HEAD:refs/heads/x")
	if err == nil || !strings.Contains(out, "remote error: pushes that were ended left") || strings.Contains(out, f.bare+"/") {
		t.Errorf("%v\n%s", err, out)
	}
}
