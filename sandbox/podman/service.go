package podman

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/pattern"
	"git-ward/internal/scratch"
)

// serviceTimeout is how long the service may take to answer for the first time.
const serviceTimeout = 20 * time.Second

// service is our own `podman system service`, a child of a reaper. When the launcher ends, the
// reaper lets the service finish what it is making, so that podman knows all of it, and
// removes its containers.
type service struct {
	dir    *scratch.Dir // private directory: socket, settings, lives
	socket string
	reaper *reaper
	what   reaping                 // the reaper's instructions
	again  func() (*reaper, error) // starts another reaper in place of a killed one
}

// startService returns when the socket answers.
func startService(ctx context.Context, o *Options, m *machine, run string) (*service, error) {
	podman, err := findPodman(o.Podman)
	if err != nil {
		return nil, err
	}
	s := &service{}
	if s.dir, err = scratch.Make("", ""); err != nil {
		return nil, err
	}
	s.socket = filepath.Join(s.dir.Path, "sock")
	if err := s.start(ctx, podman, o, m, run); err != nil {
		return nil, errors.Join(err, s.stop(false))
	}
	return s, nil
}

// Installed says why there is no podman to start.
func Installed() error {
	_, err := findPodman("")
	return err
}

func findPodman(podman string) (string, error) {
	path, err := exec.LookPath(cmp.Or(podman, "podman"))
	if err != nil {
		return "", diag.Hint(fmt.Errorf("podman is not there: %w", err),
			"on Debian: apt-get install podman runc netavark iptables uidmap slirp4netns; or launch --unfenced, without a fence")
	}
	return path, nil
}

func (s *service) start(ctx context.Context, podman string, o *Options, m *machine, run string) error {
	oci, err := runtimeNamed(o.Runtime)
	if err != nil {
		return err
	}
	runtimePath, err := FindRuntime(oci.name)
	if err != nil {
		return err
	}
	conf, err := s.configure(oci, runtimePath)
	if err != nil {
		return err
	}
	env := serviceEnv(os.Environ(), conf)
	what := reaping{
		Podman: append(append([]string{podman}, globalArgs(o.Storage)...), oci.args(m)...), Runtime: runtimePath,
		Run: run, Dir: pointTo(s.dir), Socket: s.socket, Scratch: pointTo(o.Scratch), Builds: o.Builds,
	}
	s.what = what
	s.again = func() (*reaper, error) {
		rest := what
		rest.Socket, rest.Scratch = "", pointer{}
		return startReaper(&rest, env, s.dir.Lock, o.Log)
	}
	if s.reaper, err = startReaper(&what, env, s.dir.Lock, o.Log); err != nil {
		return err
	}
	return s.ready(ctx)
}

// configure writes the service's own configuration and returns its path.
func (s *service) configure(oci *ociRuntime, path string) (string, error) {
	conf, seccomp := filepath.Join(s.dir.Path, "containers.conf"), filepath.Join(s.dir.Path, "seccomp.json")
	profile, err := seccompProfile(oci)
	if err == nil {
		err = os.WriteFile(seccomp, profile, 0o600)
	}
	if err != nil {
		return "", err
	}
	networks, err := Networks(os.Getenv)
	if err != nil {
		return "", err
	}
	text, err := containersConf(seccomp, oci.name, path, &networks)
	if err != nil {
		return "", err
	}
	return conf, os.WriteFile(conf, []byte(text), 0o600)
}

func (s *service) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if conn, err := net.Dial("unix", s.socket); err == nil {
			return conn.Close()
		}
		select {
		case <-s.reaper.told:
			return s.ended()
		case <-ctx.Done():
			return fmt.Errorf("podman's service does not answer: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// ended says why the service ended, or nil while it runs.
func (s *service) ended() error {
	select {
	case <-s.reaper.told:
		return errors.New(strings.TrimSuffix(fmt.Sprintf("podman's service is gone: %s: %s", s.reaper.how, s.reaper.stderr.text()), ": "))
	default:
		return nil
	}
}

// stop ends the service and the reaper, which removes the directory. Clean means that no
// container is left.
func (s *service) stop(clean bool) error {
	defer s.dir.Lock.Close()
	if s.reaper == nil {
		return s.dir.Remove()
	}
	return s.reaper.stop(clean, s.again)
}

func globalArgs(storage string) []string {
	if storage == "" {
		return DriverArgs()
	}
	return []string{
		"--root", filepath.Join(storage, "root"),
		"--runroot", filepath.Join(storage, "run"),
		"--tmpdir", filepath.Join(storage, "tmp"),
		"--storage-driver", "overlay",
	}
}

// DriverArgs choose how an ordinary user's podman keeps images, where nobody has
// chosen. Podman 4.3 would take vfs, which copies the whole image for every
// container, and stay with it for ever; a choice made before stays.
func DriverArgs() []string {
	home, err := os.UserConfigDir()
	if os.Geteuid() == 0 || err != nil || os.Getenv("CONTAINERS_STORAGE_CONF") != "" || os.Getenv("STORAGE_DRIVER") != "" {
		return nil
	}
	for _, path := range []string{filepath.Join(home, "containers/storage.conf"), "/etc/containers/storage.conf", "/usr/share/containers/storage.conf"} {
		if data, err := os.ReadFile(path); err == nil && driverLine.Regexp().Match(data) {
			return nil
		}
	}
	return []string{"--storage-driver", "overlay"}
}

var driverLine = pattern.New(`(?m)^\s*driver\s*=\s*"[^"]`)

// serviceEnv is the user's environment without variables that would lead podman to another
// service or configuration.
func serviceEnv(environ []string, conf string) []string {
	// Podman and the runtime mostly end before a garbage collection pays: Go's default of 100
	// costs an eighth of a launch's processor time. An explicit setting stays.
	env := []string{"GOGC=400", "CONTAINERS_CONF=" + conf}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "CONTAINER_") || strings.HasPrefix(name, "CONTAINERS_CONF") || name == "NOTIFY_SOCKET" {
			continue
		}
		env = append(env, kv)
	}
	return env
}
