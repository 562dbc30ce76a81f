package podman

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fenced is a Spec that passes.
func fenced() *Spec {
	return &Spec{
		Image: "image", Command: []string{"true"}, NoNewPrivileges: true, ReadOnlyRoot: true, Network: NetworkPublic,
		Caps: []string{"setuid", "CAP_SETGID", "KILL"},
		Mounts: []Mount{
			{Kind: Tmpfs, Target: "/tmp", Size: 1 << 20},
			{Kind: Tmpfs, Target: "/bot", Size: 1 << 20},
			{Kind: Tmpfs, Target: "/mnt/remote/hooks", Size: 4096, ReadOnly: true},
		},
	}
}

func TestCheck(t *testing.T) {
	if err := fenced().Check(); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/run", link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	mount := func(m Mount) func(*Spec) { return func(s *Spec) { s.Mounts = append(s.Mounts, m) } }
	bind := func(source string) func(*Spec) {
		return mount(Mount{Kind: Bind, Source: source, Target: "/mnt/x", ReadOnly: true})
	}
	for _, test := range []struct {
		want   string
		change func(*Spec)
	}{
		{"no image", func(s *Spec) { s.Image = "" }},
		{"no command", func(s *Spec) { s.Command = nil }},
		{"--privileged", func(s *Spec) { s.Privileged = true }},
		{"new privileges", func(s *Spec) { s.NoNewPrivileges = false }},
		{"writable root", func(s *Spec) { s.ReadOnlyRoot = false }},
		{"seccomp profile unconfined", func(s *Spec) { s.Seccomp = "unconfined" }},
		{"devices", func(s *Spec) { s.Devices = []string{"/dev/kvm"} }},
		{"NET_ADMIN: its holder rewrites the firewall", func(s *Spec) { s.Caps = []string{"cap_net_admin"} }},
		{"NET_RAW", func(s *Spec) { s.Caps = []string{" net_raw "} }},
		{"SYS_ADMIN: SYS_ capabilities reach", func(s *Spec) { s.Caps = []string{"CAP_SYS_ADMIN"} }},
		{"SYS_PTRACE", func(s *Spec) { s.Caps = []string{"SYS_PTRACE"} }},
		{"ALL", func(s *Spec) { s.Caps = []string{"all"} }},
		{"DAC_OVERRIDE: only setuid", func(s *Spec) { s.Caps = []string{"DAC_OVERRIDE"} }},
		{`the network "host"`, func(s *Spec) { s.Network = "host" }},
		{`the network "container:x"`, func(s *Spec) { s.Network = "container:x" }},
		{`the network ""`, func(s *Spec) { s.Network = "" }},
		{`pid namespace "host"`, func(s *Spec) { s.PID = "host" }},
		{`ipc namespace "host"`, func(s *Spec) { s.IPC = "host" }},
		{`user namespace "host"`, func(s *Spec) { s.UserNS = "host" }},
		{"these user ids", func(s *Spec) { s.IDs = IDs{Base: 0, Size: 1 << 16} }},
		{"these user ids", func(s *Spec) { s.IDs = IDs{Base: 1<<32 - 2, Size: 1 << 16} }},
		{"negative limit", func(s *Spec) { s.Limits.Processes = -1 }},
		{"too few", func(s *Spec) { s.Limits.Processes = 8 }},
		{"writable bind", mount(Mount{Kind: Bind, Source: "/srv", Target: "/mnt/x"})},
		{"writable bind", func(s *Spec) { s.Mounts = []Mount{{Kind: Bind, Source: "/srv", Target: "/bot"}} }},
		{"writable tmpfs at /var", mount(Mount{Kind: Tmpfs, Target: "/var", Size: 1})},
		{"without a size", func(s *Spec) { s.Mounts = []Mount{{Kind: Tmpfs, Target: "/tmp"}} }},
		{"two mounts", mount(Mount{Kind: Tmpfs, Target: "/tmp", Size: 1})},
		{"plain path", mount(Mount{Kind: Tmpfs, Target: "/tmp/../etc", Size: 1, ReadOnly: true})},
		{"plain path", mount(Mount{Kind: Tmpfs, Target: "/", Size: 1, ReadOnly: true})},
		{"kernel's", mount(Mount{Kind: Tmpfs, Target: "/proc/sys", Size: 1, ReadOnly: true})},
		{"mount of kind", mount(Mount{Kind: "devpts", Target: "/mnt/x", ReadOnly: true})},
		{"docker.sock rules", bind("/")},
		{"docker.sock rules", bind("/run")},
		{"docker.sock rules", bind(link)},
		{"host's kernel", bind("/proc")},
		{"host's kernel", bind("/sys/fs/cgroup")},
		{"not an absolute path", bind("srv")},
		{"cannot have a comma", bind("/srv/a,b")},
		{"not there", bind("/no/such/directory")},
		{"bind of the file", bind(file)},
	} {
		s := fenced()
		test.change(s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q, got %v", test.want, err)
		}
	}
	s := fenced()
	s.Privileged, s.Network, s.Caps = true, "host", []string{"NET_RAW"}
	if err := s.Check(); strings.Count(err.Error(), "may not have") != 3 {
		t.Errorf("want every reason at once, got %v", err)
	}
}

func FuzzMountTarget(f *testing.F) {
	for _, s := range []string{"/tmp", "/bot", "/mnt/../etc", "//tmp", "/tmp/", "/\x00", "/a,b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		m := Mount{Kind: Tmpfs, Target: target, Size: 1}
		if m.check() == nil && target != "/tmp" && target != "/bot" {
			t.Errorf("writable: %q", target)
		}
	})
}

func TestLimitsSaid(t *testing.T) {
	for _, test := range []struct {
		m    machine
		want int
	}{
		{machine{}, 0},
		{machine{rootless: true}, 3},
		{machine{rootless: true, cgroupV2: true, controllers: []string{"memory", "pids"}}, 1},
		{machine{rootless: true, cgroupV2: true, controllers: []string{"cpu", "memory", "pids"}}, 0},
	} {
		r := &request{Spec: Spec{Limits: Limits{Processes: 1, Memory: 1, CPUs: 1}}}
		r.limits(&test.m)
		if len(r.warnings) != test.want {
			t.Errorf("%+v: %q", test.m, r.warnings)
		}
	}
}
