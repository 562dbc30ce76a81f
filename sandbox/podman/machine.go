package podman

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"git-ward/internal/diag"
)

// machine is what Create needs to know about the machine.
type machine struct {
	rootless    bool
	cgroupV2    bool
	controllers []string
}

// Rootless tells whether podman is an ordinary user's.
func (e *Engine) Rootless() bool { return e.machine.rootless }

var errNoSeccomp = diag.Hint(errors.New("there is no seccomp here, so a container is no fence"),
	"use a kernel and a podman with seccomp; `podman info` tells")

// inspectHost finds that out without podman, because every launch waits for it.
func inspectHost() (machine, error) {
	if _, err := os.Stat("/proc/sys/kernel/seccomp/actions_avail"); err != nil {
		return machine{}, errNoSeccomp
	}
	m := machine{rootless: os.Geteuid() != 0}
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(root + "/cgroup.controllers"); err != nil {
		return m, nil
	}
	m.cgroupV2 = true
	// What systemd has delegated to the user's own manager; nothing without one.
	uid := os.Geteuid()
	path := fmt.Sprintf("%s/user.slice/user-%d.slice/user@%d.service/cgroup.controllers", root, uid, uid)
	if data, err := os.ReadFile(path); err == nil {
		m.controllers = strings.Fields(string(data))
	}
	return m, nil
}
