package podman

import (
	"fmt"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
)

// containersConf is the private service's complete configuration: CONTAINERS_CONF replaces the
// machine's and the user's files, so that their default capabilities, extra mounts or OCI
// hooks do not reach a container. The machine's network configuration stays. seccomp is a
// profile's path, runtime an OCI runtime's name and runtimePath its path on the host.
func containersConf(seccomp, runtime, runtimePath string, networks *NetworkSettings) (string, error) {
	var b strings.Builder
	b.WriteString("[containers]\ninit = false\nlog_driver = \"k8s-file\"\n")
	fmt.Fprintf(&b, "seccomp_profile = %q\n", seccomp)
	// The limit of images and machines without their own. Soft and hard are equal, because
	// podman 4.3 swaps them in its API.
	b.WriteString("default_ulimits = [\"nofile=4096:4096\"]\n")
	b.WriteString("log_size_max = 16777216\n")
	// The last table is [engine], to which lines are appended.
	if err := toml.NewEncoder(&b).Encode(networks); err != nil {
		return "", err
	}
	b.WriteString("events_logger = \"file\"\nhooks_dir = []\n")
	// Detach keys would end the stream at ctrl-P ctrl-Q in stdin; the bindings cannot disable
	// them.
	b.WriteString("detach_keys = \"\"\n")
	fmt.Fprintf(&b, "runtime = %q\n", runtime)
	if !systemdOwnsCgroups() {
		b.WriteString("cgroup_manager = \"cgroupfs\"\n")
	}
	// Only this path: podman would otherwise try a list of its own.
	fmt.Fprintf(&b, "[engine.runtimes]\n%s = [%q]\n", runtime, runtimePath)
	return b.String(), nil
}

// systemdOwnsCgroups: systemd can only make cgroups if it runs and the hierarchy is unified;
// otherwise podman would report an error late.
func systemdOwnsCgroups() bool {
	_, noUnified := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	_, noSystemd := os.Stat("/run/systemd/system")
	return noUnified == nil && noSystemd == nil
}
