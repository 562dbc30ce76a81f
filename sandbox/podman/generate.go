//go:build remote && containers_image_openpgp

package podman

import (
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/containers/podman/v5/pkg/specgen"
	"github.com/containers/storage/pkg/idtools"
	"github.com/containers/storage/types"
	spec "github.com/opencontainers/runtime-spec/specs-go"
)

// generate translates the request into podman's terms. It sets everything, so that no default
// of podman's or the image's applies.
func (r *request) generate() *specgen.SpecGenerator {
	g := specgen.NewSpecGenerator(r.Image, false)
	r.basic(&g.ContainerBasicConfig)
	r.storage(&g.ContainerStorageConfig)
	r.security(&g.ContainerSecurityConfig)
	r.network(&g.ContainerNetworkConfig)
	r.resources(&g.ContainerResourceConfig)
	return g
}

func (r *request) basic(c *specgen.ContainerBasicConfig) {
	c.Entrypoint, c.Command = []string{}, r.commandLine()
	c.Timeout = uint((r.Timeout + time.Second - 1) / time.Second)
	c.Name, c.ConmonPidFile = r.name, r.conmon
	c.Env, c.Labels = r.Env, r.labels
	c.Stdin, c.Terminal = &r.Stdin, &r.TTY
	c.Hostname = r.Hostname
	c.Systemd, c.SdNotifyMode = "false", "ignore"
	c.RestartPolicy = "no" // a restarted container has no rules
	c.HTTPProxy, c.EnvHost = new(false), new(false)
	c.PidNS = specgen.Namespace{NSMode: specgen.Private}
	c.UtsNS = specgen.Namespace{NSMode: specgen.Private}
	signal := syscall.SIGTERM // before SIGKILL, when the container is stopped
	c.StopSignal = &signal
}

func (r *request) storage(c *specgen.ContainerStorageConfig) {
	c.ImageVolumeMode = "ignore" // an image may ask for writable ones
	c.WorkDir = r.Dir
	c.IpcNS = specgen.Namespace{NSMode: specgen.None}
	if r.Shm > 0 {
		c.IpcNS, c.ShmSize = specgen.Namespace{NSMode: specgen.Private}, &r.Shm
	}
	for _, m := range r.Mounts {
		switch m.Kind {
		case Bind:
			// Not rbind: a mount below the source would be writable.
			c.Mounts = append(c.Mounts, spec.Mount{Type: "bind", Source: m.Source, Destination: m.Target,
				Options: []string{"bind", "ro", "nosuid", "nodev", "private"}})
		case Tmpfs:
			c.Mounts = append(c.Mounts, spec.Mount{Type: "tmpfs", Source: "tmpfs", Destination: m.Target,
				Options: []string{mode(m.ReadOnly), "nosuid", "nodev", "notmpcopyup", "mode=1777", "size=" + strconv.FormatInt(m.Size, 10)}})
		}
	}
	for _, d := range r.disks {
		c.Volumes = append(c.Volumes, &specgen.NamedVolume{Name: d.volume, Dest: d.mount.Target,
			Options: []string{mode(d.mount.ReadOnly), "nosuid", "nodev", "nocopy"}})
	}
}

func mode(readOnly bool) string {
	if readOnly {
		return "ro"
	}
	return "rw"
}

func (r *request) security(c *specgen.ContainerSecurityConfig) {
	c.User = r.User
	c.Umask = "0022"
	c.CapDrop = []string{"ALL"}
	for _, name := range r.Caps {
		c.CapAdd = append(c.CapAdd, "CAP_"+capName(name))
	}
	c.Privileged, c.NoNewPrivileges = new(false), &r.NoNewPrivileges
	c.Mask = r.masked
	// podman's own tmpfs on /tmp, /run and /var/tmp would be writable and unlimited.
	c.ReadOnlyFilesystem, c.ReadWriteTmpfs = &r.ReadOnlyRoot, new(false)
	if r.rootless {
		return // rootless, it is in the user's namespace already
	}
	c.UserNS = specgen.Namespace{NSMode: specgen.Private}
	ids := []idtools.IDMap{{ContainerID: 0, HostID: int(r.IDs.Base), Size: int(r.IDs.Size)}}
	c.IDMappings = &types.IDMappingOptions{UIDMap: ids, GIDMap: ids}
}

func (r *request) network(c *specgen.ContainerNetworkConfig) {
	switch {
	case r.Network != NetworkPublic:
		c.NetNS = specgen.Namespace{NSMode: specgen.NoNetwork}
	case r.rootless:
		c.NetNS = specgen.Namespace{NSMode: specgen.Slirp}
	default:
		c.NetNS = specgen.Namespace{NSMode: specgen.Bridge}
	}
	// podman's would disclose the host's names and addresses.
	c.UseImageHosts = new(true)
	if r.Network != NetworkPublic {
		c.UseImageResolvConf = new(true) // the image's is empty
		return
	}
	for _, a := range r.DNS {
		c.DNSServers = append(c.DNSServers, net.IP(a.AsSlice()))
	}
	c.DNSSearch = []string{"."} // not the host's
}

func (r *request) resources(c *specgen.ContainerResourceConfig) {
	limit := func(name string, n uint64) {
		// Soft and hard equal: podman 4.3 swaps them in its API.
		c.Rlimits = append(c.Rlimits, spec.POSIXRlimit{Type: name, Soft: n, Hard: n})
	}
	limit("nofile", r.files)
	limit("nproc", r.processes) // the only limit where no cgroup applies
	l := &spec.LinuxResources{}
	if n := r.Limits.Processes; n > 0 && r.pids {
		l.Pids = &spec.LinuxPids{Limit: n}
	}
	if n := r.Limits.Memory; n > 0 && r.memory {
		l.Memory = &spec.LinuxMemory{Limit: &n, Swap: &n}
	}
	if r.Limits.CPUs > 0 && r.cpus {
		period := uint64(100_000)
		l.CPU = &spec.LinuxCPU{Period: &period, Quota: new(int64(r.Limits.CPUs * float64(period)))}
	}
	if r.pids || r.memory || r.cpus { // podman warns about limits that it cannot enforce
		c.ResourceLimits = l
	}
}
