package fence

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
	"git-ward/sandbox/firewall"
	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// Scripts of the host's are not shown in the fence, whichever directory a server
// keeps them in.
func TestOtherHooksAreCovered(t *testing.T) {
	bare := t.TempDir()
	for _, name := range []string{"hooks", "hooks.chained", "custom_hooks", "custom_hooks.chained", "objects", "refs"} {
		if err := os.Mkdir(filepath.Join(bare, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := otherHooks(bare), []string{"custom_hooks", "custom_hooks.chained", "hooks.chained"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What a container has from the host is read-only, hooks and settings are covered, and
// there is no network in allow-list mode (SBX-3, SBX-4).
func TestContainer(t *testing.T) {
	bare := t.TempDir()
	if err := os.Mkdir(filepath.Join(bare, "custom_hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := &Fence{image: "image", cover: "/cover", Policy: firewall.Policy{Mode: firewall.Allowlist}}
	s := f.Container(bare, config.Default(), image.AgentID)
	covered := map[string]bool{}
	for _, m := range s.Mounts {
		if m.Kind != podman.Tmpfs && !m.ReadOnly {
			t.Errorf("%s is writable at %s", m.Source, m.Target)
		}
		if m.Source == "/cover" {
			covered[m.Target] = true
		}
	}
	for _, target := range []string{"/mnt/remote/ward", "/mnt/remote/hooks", "/mnt/remote/custom_hooks"} {
		if !covered[target] {
			t.Errorf("%s is not covered", target)
		}
	}
	if s.Network != podman.NetworkNone || len(s.DNS) > 0 || !s.NoNewPrivileges || !s.ReadOnlyRoot || s.User != "1001:1001" {
		t.Errorf("%+v", s)
	}
	// The agent's command is another user than the first process, and without its rights.
	if first := strings.Join(s.First, " "); first != "/ward/bin/ward-inside --user 1000" {
		t.Errorf("the first process: %s", first)
	}
	if s := f.Container(bare, config.Default(), image.WatcherID); s.Proof || len(s.First) != 1 {
		t.Errorf("the default runtime's container tries its fence: %v", s.First)
	}
	f.Policy.Mode, f.prove = firewall.Public, true
	if s := f.Container(bare, config.Default(), image.WatcherID); !s.Proof || len(s.First) != 3 || s.First[1] != "--probe" || !strings.Contains(s.First[2], `"egress":"public"`) {
		t.Errorf("another runtime's container does not try its fence: %v", s.First)
	}
	if s := f.Container(bare, config.Default(), image.WatcherID); s.Network != podman.NetworkPublic {
		t.Errorf("network %v in public mode", s.Network)
	}
}

// TestFindGo: the toolchain is found where its program lies, through links, as go itself
// would say; and go is asked where a program of that name is something else.
func TestFindGo(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(string(out))
	t.Setenv("GOROOT", "")
	program, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	links, shims := t.TempDir(), t.TempDir()
	if err := os.Symlink(program, filepath.Join(links, "go")); err != nil {
		t.Fatal(err)
	}
	gittest.Program(t, filepath.Join(shims, "go"), "#!/bin/sh\nexec "+program+" \"$@\"\n")
	for _, dir := range []string{filepath.Dir(program), links, shims} {
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		if got := findGo(); got != want {
			t.Errorf("with go in %s: %q, not %q", dir, got, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if got := findGo(); got != "" {
		t.Errorf("without go: %q", got)
	}
}
