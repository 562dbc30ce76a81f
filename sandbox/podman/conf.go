package podman

import (
	"fmt"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
)

// containersConf is all of the private service's settings: CONTAINERS_CONF
// takes the place of the machine's and the user's files, so that a default
// capability, an extra mount or an OCI hook there does not reach a container.
// What the machine says of its networks stays. seccomp is the path of a profile,
// runtime the name of an OCI runtime and runtimePath where the host has it.
func containersConf(seccomp, runtime, runtimePath string, networks *NetworkSettings) (string, error) {
	var b strings.Builder
	b.WriteString("[containers]\ninit = false\nlog_driver = \"k8s-file\"\n")
	fmt.Fprintf(&b, "seccomp_profile = %q\n", seccomp)
	// The limit of an image or machine without its own. Soft and hard are equal,
	// because podman 4.3 swaps them on the way through its API.
	b.WriteString("default_ulimits = [\"nofile=4096:4096\"]\n")
	b.WriteString("log_size_max = 16777216\n")
	// Its last table is [engine], which goes on.
	if err := toml.NewEncoder(&b).Encode(networks); err != nil {
		return "", err
	}
	b.WriteString("events_logger = \"file\"\nhooks_dir = []\n")
	// With detach keys, ctrl-P ctrl-Q in the middle of stdin would end the stream;
	// the bindings cannot say so by themselves.
	b.WriteString("detach_keys = \"\"\n")
	fmt.Fprintf(&b, "runtime = %q\n", runtime)
	if !systemdOwnsCgroups() {
		b.WriteString("cgroup_manager = \"cgroupfs\"\n")
	}
	// This path and no other: podman would go through a list of its own.
	fmt.Fprintf(&b, "[engine.runtimes]\n%s = [%q]\n", runtime, runtimePath)
	return b.String(), nil
}

// systemdOwnsCgroups: only with systemd and the unified hierarchy is systemd the
// one to ask for a cgroup, and its absence an error that podman reports late.
func systemdOwnsCgroups() bool {
	_, noUnified := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	_, noSystemd := os.Stat("/run/systemd/system")
	return noUnified == nil && noSystemd == nil
}
