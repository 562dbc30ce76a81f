package manifest

import (
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/sandbox/firewall"
)

var update = flag.Bool("update", false, "write the golden files anew; read the difference")

// spec is an agent's pod with every setting at its default.
func spec() *Spec {
	s := config.Default()
	s.Kube.NodeSelector = []string{"pool=agents"}
	return &Spec{
		Name: Name("project", "D-3", 1), Namespace: "ward", Image: "localhost/git-ward:1", Settings: s, Config: "# the settings\n",
		Labels: map[string]string{"ward/directive": "D-3"}, Notes: map[string]string{"ward/holder": "host.1"},
		Gate: "ssh://git@198.51.100.1:2222/srv/git/project.git",
		Policy: firewall.Policy{Mode: firewall.Public, Gates: []netip.AddrPort{netip.MustParseAddrPort("198.51.100.1:2222")}, GateUser: GateUser,
			Connections: 4096, Packets: 20000},
		Model: "script", Directive: "D-3", Until: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Time: 24*time.Hour + 11*time.Minute,
	}
}

// TestYAML: what --print shows is what stands in testdata, to the letter.
func TestYAML(t *testing.T) {
	owned := spec()
	owned.Secret, owned.Owner, owned.Suspend = &Secret{[]byte("KEY"), []byte("HOST")}, &Owner{"batch/v1", "Job", owned.Name, "1-2"}, true
	owned.Only = "0123456789abcdef"
	owned.Policy.Mode, owned.Settings.Kube.RuntimeClass, owned.Settings.Kube.ServiceAccount = firewall.Allowlist, "kata", "agents"
	judge := spec()
	judge.Name, judge.Verify = VerifierName("project", "0123456789abcdef", "WORDWORD"), &Verify{Order: `{"commit":"0123"}`}
	for name, objects := range map[string][]Object{
		"agent": spec().Objects(), "owned": owned.Objects(), "podman": spec().Podman(), "verifier": judge.Objects(),
	} {
		got, err := YAML(objects)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != string(got) {
			t.Errorf("%s differs (%v); -update writes it:\n%s", path, err, got)
		}
	}
}

// TestNothingIsOpen: whatever the settings, no container has more than it needs, and the key
// is mounted in near alone.
func TestNothingIsOpen(t *testing.T) {
	judge := spec()
	judge.Verify = &Verify{Order: "{}"}
	for _, s := range []*Spec{spec(), judge} {
		pod := s.pod()
		if pod.HostNetwork || pod.HostPID || pod.HostIPC || pod.AutomountToken || pod.ShareProcesses {
			t.Error("the pod shares with its node, or has a token")
		}
		rights := map[string]string{"fence": "NET_ADMIN", "near": "", "agent": "SETUID SETGID KILL", "verifier": "SETUID SETGID KILL"}
		for _, c := range append(pod.InitContainers, pod.Containers...) {
			k := c.SecurityContext
			if k.Privileged || k.Escalation || !k.ReadOnlyRoot || strings.Join(k.Capabilities.Drop, "") != "ALL" || strings.Join(k.Capabilities.Add, " ") != rights[c.Name] {
				t.Errorf("%s: %+v", c.Name, k)
			}
			covered := map[string]bool{}
			for _, m := range c.VolumeMounts {
				covered[m.Path] = m.Name == "covered" && m.ReadOnly
				if m.Name == "secret" != (m.Path == secretDir) || m.Name == "secret" && c.Name != "near" {
					t.Errorf("%s has the key", c.Name)
				}
				if writes := map[string]string{"net": "fence", "near": "near", "mirror": "near"}[m.Name]; writes != "" && !m.ReadOnly && c.Name != writes {
					t.Errorf("%s writes to %s", c.Name, m.Name)
				}
			}
			if !covered["/dev/mqueue"] || !covered["/dev/shm"] {
				t.Errorf("%s has memory that no limit of Ward's bounds: %v", c.Name, c.VolumeMounts)
			}
		}
	}
}

// TestNames: two repositories never have one name, and every name is one of Kubernetes.
func TestNames(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	seen := map[string]string{}
	long := strings.Repeat("x", 80)
	for _, repository := range []string{"project", "Project", "pro ject", "pro-ject", "", "-", "日本", "../x", long, long + "y"} {
		for _, name := range []string{Name(repository, "D-3", 1), Name(repository, "D-1000000000", 12), VerifierName(repository, "0123456789abcdef", "WORDWORD")} {
			if len(name) > maxName || !valid.MatchString(name) {
				t.Errorf("%q: %s", repository, name)
			}
			if other, taken := seen[name]; taken {
				t.Errorf("%q and %q are both %s", repository, other, name)
			}
			seen[name] = repository
		}
	}
	if got := Name("project", "D-3", 1); got != "ward-project-d-3-1" {
		t.Error(got)
	}
}
