package podman

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/diag"
)

// serviceTimeout is how long the service may take to answer at all, and to end.
const serviceTimeout = 20 * time.Second

// service is a `podman system service` of our own. It ends with the launcher: the
// kernel tells it to, and it finishes what it is making, so that it knows all of
// it; and the reaper removes its containers.
type service struct {
	dir    string // private: socket and settings
	socket string
	cmd    *exec.Cmd
	stderr bytes.Buffer // read after done only
	done   chan struct{}
	err    error // how it ended; valid after done
	reaper *reaper
}

// startService returns when the socket answers.
func startService(ctx context.Context, o *Options, run string) (*service, error) {
	podman, err := findPodman(o.Podman)
	if err != nil {
		return nil, err
	}
	// Unix socket paths are short (108 bytes), so the directory is too.
	dir, err := os.MkdirTemp("", "ward-podman-")
	if err != nil {
		return nil, err
	}
	s := &service{dir: dir, socket: filepath.Join(dir, "sock"), done: make(chan struct{})}
	if err := s.start(ctx, podman, o, run); err != nil {
		return nil, errors.Join(err, s.stop(false))
	}
	return s, nil
}

func findPodman(podman string) (string, error) {
	if podman == "" {
		podman = "podman"
	}
	path, err := exec.LookPath(podman)
	if err != nil {
		return "", diag.Hint(fmt.Errorf("podman is not there: %w", err),
			"on Debian: apt-get install podman runc netavark iptables uidmap slirp4netns; or launch --unfenced, without a fence")
	}
	return path, nil
}

func (s *service) start(ctx context.Context, podman string, o *Options, run string) error {
	oci, err := runtimeNamed(o.Runtime)
	if err != nil {
		return err
	}
	conf, err := s.configure(oci)
	if err != nil {
		return err
	}
	global := append(globalArgs(o.Storage), oci.args()...)
	env := serviceEnv(os.Environ(), conf)
	if s.reaper, err = startReaper(append([]string{podman}, global...), env, run, s.dir, o.Scratch); err != nil {
		return err
	}
	s.cmd = exec.Command(podman, append(global, "system", "service", "--time=0", "unix://"+s.socket)...)
	s.cmd.Env = env
	s.cmd.Stderr = &s.stderr
	if o.Log != nil {
		s.cmd.Stderr = io.MultiWriter(&s.stderr, o.Log)
	}
	s.cmd.WaitDelay = time.Second // conmons inherit its stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go s.watch(started)
	if err := <-started; err != nil {
		return fmt.Errorf("podman does not start: %w", err)
	}
	return s.ready(ctx)
}

// configure writes the service's own settings, and returns their path.
func (s *service) configure(oci *ociRuntime) (string, error) {
	path, err := FindRuntime(oci.name)
	if err != nil {
		return "", err
	}
	conf, seccomp := filepath.Join(s.dir, "containers.conf"), filepath.Join(s.dir, "seccomp.json")
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

// watch runs the service. The death signal follows the thread that started the
// child, not the process (prctl(2)): the thread is kept for as long as it lives.
func (s *service) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	err := s.cmd.Start()
	started <- err
	if err == nil {
		s.err = s.cmd.Wait()
	}
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
		case <-s.done:
			return s.ended()
		case <-ctx.Done():
			return fmt.Errorf("podman's service does not answer: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// ended says why the service is gone, or nil while it runs.
func (s *service) ended() error {
	select {
	case <-s.done:
		return fmt.Errorf("podman's service ended (%v): %s", s.err, bytes.TrimSpace(s.stderr.Bytes()))
	default:
		return nil
	}
}

// stop ends the service and the reaper, which removes the directory. Clean means
// that no container is left: the service does nothing then, and is not given the
// second that it takes to say goodbye.
func (s *service) stop(clean bool) error {
	if s.cmd != nil && s.cmd.Process != nil {
		if !clean {
			syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
			select {
			case <-s.done:
			case <-time.After(serviceTimeout):
			}
		}
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
	}
	if s.reaper == nil {
		return os.RemoveAll(s.dir)
	}
	return s.reaper.stop(clean)
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
		if data, err := os.ReadFile(path); err == nil && driverLine.Match(data) {
			return nil
		}
	}
	return []string{"--storage-driver", "overlay"}
}

var driverLine = regexp.MustCompile(`(?m)^\s*driver\s*=\s*"[^"]`)

// serviceEnv is the user's environment, without what would lead podman to
// another service or other settings.
func serviceEnv(environ []string, conf string) []string {
	env := []string{"CONTAINERS_CONF=" + conf}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "CONTAINER_") || strings.HasPrefix(name, "CONTAINERS_CONF") || name == "NOTIFY_SOCKET" {
			continue
		}
		env = append(env, kv)
	}
	return env
}
