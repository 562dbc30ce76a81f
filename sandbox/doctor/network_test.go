package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/tier"
)

// TestNetworkBackends: whichever backend this machine's podman is set to, doctor
// says so, and what to install where parts of it are not there.
func TestNetworkBackends(t *testing.T) {
	tier.First(t, "it asks podman, which takes its time")
	if _, err := exec.LookPath("podman"); err != nil || os.Geteuid() != 0 {
		t.Skip("SKIPPED: it asks podman as root; scripts/setup --fence installs it")
	}
	empty := t.TempDir()
	for _, c := range []struct{ backend, parts, want, mend string }{
		{"netavark", fmt.Sprintf("[engine]\nhelper_binaries_dir = [%q]\n", empty), "podman does not start", "apt-get install netavark iptables"},
		{"cni", fmt.Sprintf("cni_plugin_dirs = [%q]\n", empty), "these of it are not installed: bridge, firewall, host-local, portmap, tuning", "apt-get install containernetworking-plugins iptables"},
		{"neither", "", "podman does not start", "network_backend"},
	} {
		conf := filepath.Join(t.TempDir(), "containers.conf")
		if err := os.WriteFile(conf, fmt.Appendf(nil, "[network]\nnetwork_backend = %q\n%s", c.backend, c.parts), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CONTAINERS_CONF", conf)
		e := &examiner{ctx: t.Context(), root: true, name: "root"}
		e.podman()
		var said []string
		found := false
		for _, f := range e.found {
			said = append(said, fmt.Sprintf("%+v", f))
			found = found || f.State == Missing && strings.Contains(f.Detail, c.want) && strings.Contains(f.Mend, c.mend)
		}
		if !found {
			t.Errorf("%s: %s", c.backend, strings.Join(said, "\n"))
		}
	}
}
