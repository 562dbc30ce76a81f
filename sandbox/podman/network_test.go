package podman

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"git-ward/internal/gittest"
)

// The machine's networks are ours, and nothing else of its settings is.
func TestNetworks(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "containers.conf")
	getenv := func(name string) string { return map[string]string{"CONTAINERS_CONF": conf}[name] }
	text := "[containers]\nprivileged = true\ndefault_capabilities = [\"SYS_ADMIN\"]\n[network]\nnetwork_backend = \"cni\"\ndefault_subnet = \"10.99.0.0/16\"\ndns_bind_port = 53\n" +
		"[engine]\nhooks_dir = [\"/evil\"]\nhelper_binaries_dir = [\"/opt/helpers\"]\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Networks(getenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, settings := range []NetworkSettings{s, {}} {
		made, err := containersConf("/s.json", "runsc", "/opt/bin/runsc", &settings)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]map[string]any
		if err := toml.Unmarshal([]byte(made), &all); err != nil {
			t.Fatalf("%v:\n%s", err, made)
		}
		if strings.Contains(made, "evil") || strings.Contains(made, "SYS_ADMIN") || strings.Contains(made, "privileged") || all["engine"]["events_logger"] != "file" {
			t.Errorf("%s", made)
		}
		if settings.Network.Backend == CNI && (all["network"]["network_backend"] != "cni" || all["network"]["default_subnet"] != "10.99.0.0/16" || all["engine"]["helper_binaries_dir"].([]any)[0] != "/opt/helpers") {
			t.Errorf("the machine's networks are lost:\n%s", made)
		}
	}
	if err := os.WriteFile(conf, []byte("[network\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Networks(getenv); err == nil || !strings.Contains(err.Error(), conf) {
		t.Error("a file that is not TOML: ", err)
	}
}

// What a backend needs is looked for where podman does.
func TestLacks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	var s NetworkSettings
	s.Engine.Helpers, s.Network.PluginDirs, s.Network.Firewall = []string{dir}, []string{dir}, "nftables"
	if lacks := s.Lacks(Netavark); !slices.Equal(lacks, []string{Netavark}) {
		t.Error(lacks)
	}
	if lacks := s.Lacks(CNI); !slices.Contains(lacks, "bridge") || !slices.Contains(lacks, "host-local") {
		t.Error(lacks)
	}
	for _, name := range append([]string{Netavark, "iptables"}, plugins...) {
		gittest.Program(t, filepath.Join(dir, name), "#!/bin/sh\n")
	}
	if lacks := append(s.Lacks(Netavark), s.Lacks(CNI)...); len(lacks) > 0 {
		t.Error(lacks)
	}
}
