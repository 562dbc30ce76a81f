package podman

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"

	"git-ward/internal/glob"
)

// NetworkSettings are what the machine's own settings (containers.conf(5)) say of
// podman's networks. Our service keeps these, and no others of the machine's: a
// bridge of another backend, or another network on a subnet that is in use, would
// not work beside those that are there.
type NetworkSettings struct {
	Network struct {
		Backend    string   `toml:"network_backend,omitempty"`
		PluginDirs []string `toml:"cni_plugin_dirs,omitempty"`
		ConfigDir  string   `toml:"network_config_dir,omitempty"`
		Default    string   `toml:"default_network,omitempty"`
		Subnet     string   `toml:"default_subnet,omitempty"`
		Firewall   string   `toml:"firewall_driver,omitempty"`
	} `toml:"network"`
	Engine struct {
		Helpers []string `toml:"helper_binaries_dir,omitempty"`
	} `toml:"engine"`
}

// Networks reads them as podman would: a later file's line counts. A file that is
// not TOML is an error that names it; so it is to podman.
func Networks(getenv func(string) string) (s NetworkSettings, err error) {
	for _, path := range settingsFiles(getenv) {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = toml.Unmarshal(data, &s)
		}
		if err != nil {
			return s, fmt.Errorf("podman's settings in %s: %w", path, err)
		}
	}
	return s, nil
}

func settingsFiles(getenv func(string) string) []string {
	if path := getenv("CONTAINERS_CONF"); path != "" {
		return []string{path}
	}
	files := []string{"/usr/share/containers/containers.conf"}
	roots := []string{"/etc/containers/containers.conf"}
	if os.Geteuid() != 0 {
		if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
			roots = append(roots, filepath.Join(dir, "containers/containers.conf"))
		} else {
			roots = append(roots, filepath.Join(getenv("HOME"), ".config/containers/containers.conf"))
		}
	}
	for _, path := range roots {
		parts, _ := glob.Below(path+".d", "*.conf") // sorted
		files = append(append(files, path), parts...)
	}
	return files
}

// The default directories of podman's helpers and of CNI plugins.
var (
	helperDirs = []string{"/usr/local/libexec/podman", "/usr/local/lib/podman", "/usr/libexec/podman", "/usr/lib/podman"}
	pluginDirs = []string{"/usr/local/libexec/cni", "/usr/libexec/cni", "/usr/local/lib/cni", "/usr/lib/cni", "/opt/cni/bin"}
)

// The network backends that podman may have.
const (
	Netavark = "netavark"
	CNI      = "cni"
)

// plugins are the plugins of podman's default network under CNI.
var plugins = []string{"bridge", "firewall", "host-local", "portmap", "tuning"}

// Lacks names the programs of a backend that are not on this machine; a rootful
// container's bridge needs them all.
func (s *NetworkSettings) Lacks(backend string) (lacks []string) {
	dirs, programs := s.Engine.Helpers, []string{Netavark}
	if len(dirs) == 0 {
		dirs = helperDirs
	}
	if backend == CNI {
		dirs, programs = s.Network.PluginDirs, plugins
		if len(dirs) == 0 {
			dirs = pluginDirs
		}
	}
	for _, program := range programs {
		if !slices.ContainsFunc(dirs, func(dir string) bool { return executable(filepath.Join(dir, program)) }) {
			lacks = append(lacks, program)
		}
	}
	// Both need it for NAT, except a netavark that is configured for nftables.
	if !executable(sbin("iptables")) && (backend == CNI || s.Network.Firewall != "nftables") {
		lacks = append(lacks, "iptables")
	}
	return lacks
}

func executable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
