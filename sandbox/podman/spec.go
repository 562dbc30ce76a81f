package podman

import (
	"io"
	"net/netip"
	"time"
)

// Spec is the whole of a container. The zero value of a field is the strict one,
// but for NoNewPrivileges and ReadOnlyRoot, which Check wants to be said. Fields
// that Check admits only empty are there so that a setting which asks for them
// is refused with a reason rather than ignored.
type Spec struct {
	Image   string
	Command []string
	// First is the container's first process, which runs Command, with its arguments
	// (ward-inside). Create adds the life socket, whose end ends it, and "--". Without it,
	// only the reaper and Timeout end what a killed launcher leaves.
	First []string
	// Proof: First tries the fence before anything else runs and reports the result
	// (ward-inside --probe), for which Start waits. A container without a positive result is
	// not started.
	Proof    bool
	Timeout  time.Duration     // podman kills it after this time, even without Ward; 0: never
	Env      map[string]string // complete: nothing of the host's environment is added
	Dir      string            // empty: the image's
	User     string            // inside: "1000" or "1000:1000"; empty: the image's
	Hostname string
	Stdin    bool // whether Attach will provide one
	TTY      bool

	Mounts []Mount
	Shm    int64 // bytes of /dev/shm; 0: there is none

	Caps            []string // of setuid, setgid, kill; all others are dropped
	NoNewPrivileges bool
	ReadOnlyRoot    bool
	Privileged      bool   // refused
	Seccomp         string // a profile; refused, because Ward's own is used
	Devices         []string

	Network Network
	DNS     []netip.Addr // resolvers; none: names do not resolve
	PID     string       // namespace; refused unless empty or "private"
	IPC     string       // the same
	UserNS  string       // the same
	IDs     IDs          // the user namespace's mapping, if rootful

	Limits Limits
}

// Network says what a container's network namespace is connected to.
type Network string

// NetworkPublic leads out; what may pass is the firewall's business. Rootless
// that is slirp4netns, rootful a bridge. NetworkNone has loopback only.
const (
	NetworkNone   Network = "none"
	NetworkPublic Network = "public"
)

// Limits bound a container's use of the machine; 0 is podman's default. Create warns about
// limits that the machine cannot enforce.
type Limits struct {
	Processes int64
	Memory    int64 // bytes; swap included
	CPUs      float64
	Files     uint64 // open files of one process
}

// IDs map the container's user and group ids 0 to Size-1 to the host's Base and
// on, where they own nothing. The zero value is DefaultIDs.
type IDs struct{ Base, Size uint32 }

// DefaultIDs is the part of the id space that systemd's and the login tools'
// assignments leave free (systemd's UIDS-GIDS.md).
var DefaultIDs = IDs{Base: 0x70000000, Size: 1 << 16}

// Mount is a mount at a path of the container.
type Mount struct {
	Kind     MountKind
	Source   string // Bind: the host's path; Disk: the image file
	Target   string
	ReadOnly bool
	Size     int64  // Tmpfs and Disk: bytes
	Owner    uint32 // Disk: the owner inside when it is new
}

// MountKind is what is mounted.
type MountKind string

// Bind is a directory of the host, Tmpfs memory that ends with the container.
// Disk is a file system of limited size in a file that outlives the container,
// which podman can mount as root only.
const (
	Bind  MountKind = "bind"
	Tmpfs MountKind = "tmpfs"
	Disk  MountKind = "disk"
)

// Streams are the ends of a container's standard streams; nil ones are not
// joined. Stdin is read until it ends, even after the container has.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// State is a container's state.
type State struct {
	Status string // created, initialized, running, exited, ...
	PID    int
}
