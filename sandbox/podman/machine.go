package podman

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"git-ward/internal/diag"
)

// Info is podman's information about the machine.
type Info struct {
	Version     string
	Runtime     string
	Rootless    bool
	CgroupV2    bool
	Controllers []string // cgroup controllers that podman may use
	Network     string   // netavark or cni
	Seccomp     bool
	Storage     string // the directory of images and containers
}

// Info asks podman, which takes its time (0.3 s: it asks the package manager
// who made each of its helpers).
func (e *Engine) Info(ctx context.Context) (Info, error) {
	return e.api.info(ctx)
}

// machine is what Create needs to know about it.
type machine struct {
	rootless    bool
	cgroupV2    bool
	controllers []string
}

// Rootless tells whether podman is an ordinary user's. Unlike Info it costs
// nothing.
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
