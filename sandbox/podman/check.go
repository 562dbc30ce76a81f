package podman

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// allowedCaps are what the watcher needs to become the agent's user and to end its processes.
// All others are dropped.
var allowedCaps = []string{"SETUID", "SETGID", "KILL"}

// capReasons explain why other requested capabilities are refused.
var capReasons = map[string]string{
	"NET_ADMIN": "its holder rewrites the firewall from inside",
	"NET_RAW":   "its holder sends packets that the firewall's chains do not see",
	"ALL":       "it includes NET_ADMIN, which rewrites the firewall from inside",
}

// writable are the only writable paths in a container, with the kinds of mounts allowed there.
var writable = map[string][]MountKind{
	"/tmp": {Tmpfs},
	"/bot": {Tmpfs, Disk},
}

// leastProcesses is what runc needs to start anything.
const leastProcesses = 32

// Check refuses a container that would not be a fence, with every reason (SBX-3).
func (s *Spec) Check() error {
	return errors.Join(s.checkForm(), s.checkRights(), s.checkNamespaces(), s.checkMounts())
}

func refuse(what, why string, args ...any) error {
	return fmt.Errorf("the container may not have %s: %s", what, fmt.Sprintf(why, args...))
}

func (s *Spec) checkForm() error {
	var errs []error
	if s.Image == "" {
		errs = append(errs, errors.New("the container has no image"))
	}
	if s.Proof && len(s.First) == 0 {
		errs = append(errs, errors.New("the container has nothing that would prove its fence"))
	}
	if len(s.Command) == 0 {
		errs = append(errs, errors.New("the container has no command"))
	}
	l := s.Limits
	if l.Processes < 0 || l.Memory < 0 || l.CPUs < 0 || s.Shm < 0 || s.Timeout < 0 {
		errs = append(errs, refuse("a negative limit", "podman takes that for no limit at all"))
	}
	if l.Processes > 0 && l.Processes < leastProcesses {
		errs = append(errs, fmt.Errorf("%d processes ([sandbox] processes) are too few: the runtime's own threads count until the start; %d at least", l.Processes, leastProcesses))
	}
	return errors.Join(errs...)
}

func (s *Spec) checkRights() error {
	var errs []error
	add := func(bad bool, what, why string, args ...any) {
		if bad {
			errs = append(errs, refuse(what, why, args...))
		}
	}
	add(s.Privileged, "--privileged", "that is every capability and device of the host, without seccomp")
	add(!s.NoNewPrivileges, "new privileges", "a setuid program inside would get what its caller lacks; set NoNewPrivileges")
	add(!s.ReadOnlyRoot, "a writable root", "what the agent plants there runs again; set ReadOnlyRoot, and write to /tmp and /bot")
	add(s.Seccomp != "", "the seccomp profile "+s.Seccomp, "the kernel's rarely used calls are the way out; Ward's own profile stays")
	add(len(s.Devices) > 0, "devices", "a device is a door that no rule here watches")
	for _, c := range s.Caps {
		name := capName(c)
		if slices.Contains(allowedCaps, name) {
			continue
		}
		why, ok := capReasons[name]
		if !ok {
			why = "only setuid, setgid and kill are needed"
		}
		if strings.HasPrefix(name, "SYS_") {
			why = "SYS_ capabilities reach the host's kernel"
		}
		add(true, "the capability "+name, "%s", why)
	}
	return errors.Join(errs...)
}

func capName(c string) string {
	return strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(c)), "CAP_")
}

func (s *Spec) checkNamespaces() error {
	var errs []error
	for _, ns := range []struct{ name, mode string }{{"pid", s.PID}, {"ipc", s.IPC}, {"user", s.UserNS}} {
		if ns.mode != "" && ns.mode != "private" {
			errs = append(errs, refuse(fmt.Sprintf("the %s namespace %q", ns.name, ns.mode), "it shares what the fence keeps apart"))
		}
	}
	switch s.Network {
	case NetworkNone, NetworkPublic:
	default:
		errs = append(errs, refuse(fmt.Sprintf("the network %q", s.Network), "rules belong to a namespace of its own: %q or %q", NetworkPublic, NetworkNone))
	}
	if ids := s.IDs; ids != (IDs{}) && (ids.Base < 1<<16 || ids.Size < 1<<16 || ids.Base+ids.Size < ids.Base) {
		errs = append(errs, refuse("these user ids", "ids below 65536 are the host's own people and services, and 65536 of them are needed"))
	}
	return errors.Join(errs...)
}

func (s *Spec) checkMounts() error {
	var errs []error
	seen := map[string]bool{}
	for _, m := range s.Mounts {
		if seen[m.Target] {
			errs = append(errs, refuse("two mounts at "+m.Target, "one would hide the other"))
		}
		seen[m.Target] = true
		errs = append(errs, m.check())
	}
	return errors.Join(errs...)
}

func (m *Mount) check() error {
	if !path.IsAbs(m.Target) || path.Clean(m.Target) != m.Target || m.Target == "/" || strings.ContainsAny(m.Target, ",:\\\n") {
		return refuse(fmt.Sprintf("a mount at %q", m.Target), "it is not the plain path of a directory inside")
	}
	if system := containing(m.Target, "/proc", "/sys", "/dev"); system != "" {
		return refuse("a mount at "+m.Target, "%s is the kernel's", system)
	}
	if !m.ReadOnly && !slices.Contains(writable[m.Target], m.Kind) {
		return refuse("a writable "+string(m.Kind)+" at "+m.Target, "only /tmp (tmpfs) and /bot (tmpfs or disk) can be written")
	}
	switch m.Kind {
	case Tmpfs, Disk:
		if m.Size <= 0 {
			return refuse("a "+string(m.Kind)+" at "+m.Target+" without a size", "it could fill the host")
		}
	case Bind:
		return checkSource(m.Source)
	default:
		return refuse(fmt.Sprintf("a mount of kind %q", m.Kind), "there are bind, tmpfs and disk")
	}
	return nil
}

// checkSource refuses host directories that contain or are a control interface of the host,
// under any name: symbolic links are resolved first.
func checkSource(source string) error {
	if strings.ContainsAny(source, ",\n") {
		return refuse(fmt.Sprintf("a bind of %q", source), "a mount's options cannot have a comma or a line end in a path: move it")
	}
	if !filepath.IsAbs(source) {
		return refuse(fmt.Sprintf("a bind of %q", source), "it is not an absolute path")
	}
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return fmt.Errorf("the container's mount is not there: %w", err)
	}
	for _, p := range []string{source, real} {
		if system := containing(p, "/proc", "/sys", "/dev"); system != "" {
			return refuse("a bind of "+source, "%s is the host's kernel", system)
		}
		for _, socket := range engineSockets() {
			if containing(socket, p) != "" {
				return refuse("a bind of "+source, "%s rules the host's containers", socket)
			}
		}
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		return refuse("a bind of the file "+source, "a file bound by itself keeps its old content after a rename; bind its directory")
	}
	return nil
}

// engineSockets are the sockets of container engines.
func engineSockets() []string {
	run := os.Getenv("XDG_RUNTIME_DIR")
	if run == "" {
		run = fmt.Sprintf("/run/user/%d", os.Getuid())
	}
	var all []string
	for _, dir := range []string{"/run", "/var/run", run} {
		for _, name := range []string{"docker.sock", "podman/podman.sock", "containerd/containerd.sock", "crio/crio.sock", "buildkit/buildkitd.sock"} {
			all = append(all, filepath.Join(dir, name))
		}
	}
	for _, name := range []string{"CONTAINER_HOST", "DOCKER_HOST"} {
		if p, ok := strings.CutPrefix(os.Getenv(name), "unix://"); ok {
			all = append(all, filepath.Clean(p))
		}
	}
	return all
}

// containing returns the first of dirs that p is, or is in.
func containing(p string, dirs ...string) string {
	p = path.Clean(p)
	for _, dir := range dirs {
		if p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") {
			return dir
		}
	}
	return ""
}
