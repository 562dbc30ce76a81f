package sandbox

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/sandbox/podman"
)

// network sets the machine's podman to a backend, as an admin would, or skips
// where this machine has none of it.
func (m *machine) network(t *testing.T, backend string) {
	t.Helper()
	settings, err := podman.Networks(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	if lacks := settings.Lacks(backend); len(lacks) > 0 {
		t.Skipf("SKIPPED: of podman's network backend %s there is no %s here", backend, strings.Join(lacks, ", "))
	}
	conf := filepath.Join(filepath.Dir(m.Bare), "containers.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "[network]\nnetwork_backend = %q\n", backend), 0o644); err != nil {
		t.Fatal(err)
	}
	m.Env = append(m.Env, "CONTAINERS_CONF="+conf)
	if has, err := m.Try(m.dir, nil, "", "sh", "-c", podmanOn(m.storage)+"info --format '{{.Host.NetworkBackend}}' 2>/dev/null"); err != nil || strings.TrimSpace(has) != backend {
		t.Skipf("SKIPPED: this machine's podman has no network backend %s: %v %s", backend, err, has)
	}
}

// podmanOn is the start of a podman command line on a storage of the tests'.
func podmanOn(storage string) string {
	return "podman --root " + storage + "/root --runroot " + storage + "/run --tmpdir " + storage + "/tmp --storage-driver overlay --runtime runc --cgroup-manager cgroupfs "
}

// neighbour is the link-local address of the bridge that the machine's podman has,
// once the kernel has found all of the bridge's addresses to be nobody else's:
// before that it answers on none of them.
func (m *machine) neighbour(t *testing.T) (address string) {
	t.Helper()
	var networks []struct {
		Interface string `json:"network_interface"`
	}
	m.parse(t, podmanOn(m.storage)+"network inspect podman", &networks)
	if len(networks) != 1 || networks[0].Interface == "" {
		t.Fatalf("podman's network: %+v", networks)
	}
	await.True(t, "a link-local address of "+networks[0].Interface, func() bool {
		var links []struct {
			Addresses []struct {
				Local     netip.Addr `json:"local"`
				Tentative bool       `json:"tentative"`
			} `json:"addr_info"`
		}
		m.parse(t, "ip -json addr show dev "+networks[0].Interface, &links)
		settled := len(links) > 0
		for _, link := range links {
			for _, a := range link.Addresses {
				settled = settled && !a.Tentative
				if a.Local.Is6() && a.Local.IsLinkLocalUnicast() {
					address = a.Local.String()
				}
			}
		}
		return settled && address != ""
	})
	return address
}

// parse reads the JSON that a command on the machine writes to stdout.
func (m *machine) parse(t testing.TB, command string, into any) {
	t.Helper()
	out := m.sh(command + " 2>/dev/null")
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}
