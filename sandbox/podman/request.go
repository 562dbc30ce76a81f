package podman

import (
	"errors"
	"slices"

	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// request is a checked Spec with its translation for this machine.
type request struct {
	Spec
	name     string
	labels   map[string]string
	conmon   string // conmon's pid file
	rootless bool
	masked   []string // masked paths in the container
	memory   bool     // whether the machine honours these limits
	cpus     bool
	pids     bool
	disks    []disk

	processes, files uint64 // rlimits

	warnings []string
}

func (e *Engine) newRequest(s *Spec) (*request, error) {
	r := &request{
		Spec:     *s,
		labels:   map[string]string{labelOwner: e.opts.Owner, labelRun: e.run},
		rootless: e.machine.rootless,
		masked:   []string{"/dev/mqueue"}, // a tmpfs that anybody inside can write
	}
	if r.IDs == (IDs{}) {
		r.IDs = DefaultIDs
	}
	for _, m := range s.Mounts {
		if m.Kind != Disk {
			continue
		}
		if e.machine.rootless {
			return nil, diag.Hint(errors.New("an ordinary user cannot mount a disk at "+m.Target),
				"use tmpfs, or run as root")
		}
		r.disks = append(r.disks, newDisk(m, r.IDs))
	}
	if e.opts.Runtime == "crun" && !e.machine.cgroupV2 {
		// Its cgroup v1 mount is a tmpfs that anybody inside can write.
		r.masked = append(r.masked, "/sys/fs/cgroup")
	}
	r.limits(&e.machine)
	// Not every root process may raise a limit, and podman's defaults are high; so each is set
	// explicitly, none above ours.
	r.processes = own(unix.RLIMIT_NPROC, r.processRlimit())
	r.files = own(unix.RLIMIT_NOFILE, s.Limits.Files)
	return r, nil
}

// headroom is how many threads podman and conmon may have besides the payload.
const headroom = 512

// processRlimit: rootless, the container runs in podman's user namespace, and until it
// switches its user, its threads count with podman's. With a limit that is too low the runtime
// sometimes dies between init and start.
func (r *request) processRlimit() uint64 {
	n := uint64(r.Limits.Processes)
	if n > 0 && r.rootless {
		n += headroom
	}
	return n
}

// own is the lower of a limit and our own hard one; 0 is no limit.
func own(resource int, wanted uint64) uint64 {
	var have unix.Rlimit
	if err := unix.Getrlimit(resource, &have); err != nil || wanted > 0 && wanted < have.Max {
		return wanted
	}
	return have.Max
}

// limits decides which limits to request. It leaves out, and reports, those that the machine
// would ignore or fail on.
func (r *request) limits(m *machine) {
	can := func(controller string) bool {
		if !m.rootless {
			return true
		}
		return m.cgroupV2 && slices.Contains(m.controllers, controller)
	}
	r.memory, r.cpus, r.pids = can("memory"), can("cpu"), can("pids")
	why := "podman is rootless and cgroups are not v2"
	if m.cgroupV2 {
		why = "the controller is not delegated to this user; `systemctl edit user@.service` with Delegate=yes mends it"
	}
	warn := func(wanted, have bool, text string) {
		if wanted && !have {
			r.warnings = append(r.warnings, text+": "+why)
		}
	}
	warn(r.Limits.Memory > 0, r.memory, "the memory limit is not in force")
	warn(r.Limits.CPUs > 0, r.cpus, "the processor limit is not in force")
	warn(r.Limits.Processes > 0, r.pids, "the process limit is only an rlimit of each user inside")
}
