//go:build remote && containers_image_openpgp

package podman

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/images"
	"github.com/containers/podman/v5/pkg/bindings/system"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/domain/entities/types"
	"golang.org/x/sys/unix"

	buildah "github.com/containers/buildah/define"
)

// client speaks through the bindings, which keep their connection in a context.
type client struct {
	uri  string
	conn context.Context
}

func dial(ctx context.Context, socket string) (api, error) {
	c := &client{uri: "unix://" + socket}
	conn, err := bindings.NewConnection(ctx, c.uri)
	if err != nil {
		return nil, err
	}
	c.conn = context.WithoutCancel(conn)
	return c, nil
}

// joined has the values of the connection and the end of the caller's context.
type joined struct {
	context.Context
	conn context.Context
}

func (j joined) Value(key any) any {
	if v := j.conn.Value(key); v != nil {
		return v
	}
	return j.Context.Value(key)
}

func (c *client) with(ctx context.Context) context.Context { return joined{ctx, c.conn} }

func (c *client) info(ctx context.Context) (Info, error) {
	i, err := system.Info(c.with(ctx), nil)
	if err != nil {
		return Info{}, err
	}
	info := Info{
		Version:     i.Version.Version,
		Rootless:    i.Host.Security.Rootless,
		Seccomp:     i.Host.Security.SECCOMPEnabled,
		CgroupV2:    i.Host.CgroupsVersion == "v2",
		Controllers: i.Host.CgroupControllers,
		Network:     i.Host.NetworkBackend,
	}
	if i.Host.OCIRuntime != nil {
		info.Runtime = i.Host.OCIRuntime.Name
	}
	return info, nil
}

func (c *client) create(ctx context.Context, r *request) (string, []string, error) {
	response, err := containers.CreateWithSpec(c.with(ctx), r.generate(), nil)
	return response.ID, response.Warnings, err
}

func (c *client) init(ctx context.Context, id string) error {
	return containers.ContainerInit(c.with(ctx), id, nil)
}

func (c *client) start(ctx context.Context, id string) error {
	return containers.Start(c.with(ctx), id, nil)
}

// attach has a connection of its own, because the bindings change its transport,
// and reads the socket below it, so that only closing the socket ends it.
func (c *client) attach(ctx context.Context, id string, s Streams, ready func()) error {
	bound, err := bindings.NewConnection(ctx, c.uri)
	if err != nil {
		return err
	}
	conn, err := bindings.GetClient(bound)
	if err != nil {
		return err
	}
	var open sockets
	conn.Client.Transport = &http.Transport{DialContext: open.dial(strings.TrimPrefix(c.uri, "unix://"))}
	defer context.AfterFunc(ctx, open.close)()
	defer open.close()
	attached, done := make(chan bool), make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-attached:
			ready()
		case <-done:
		}
	}()
	options := new(containers.AttachOptions).WithStream(true)
	err = containers.Attach(bound, id, reader(s.Stdin), writer(s.Stdout), writer(s.Stderr), attached, options)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// reader and writer hide what a stream is: the bindings panic on one that is not
// a pointer. A file stays one, because with a TTY they set its mode.
func reader(r io.Reader) io.Reader {
	if _, ok := r.(*os.File); ok || r == nil {
		return r
	}
	return &struct{ io.Reader }{r}
}

func writer(w io.Writer) io.Writer {
	if _, ok := w.(*os.File); ok || w == nil {
		return w
	}
	return &struct{ io.Writer }{w}
}

// sockets are the connections that one attach has open.
type sockets struct {
	mu     sync.Mutex
	all    []net.Conn
	closed bool
}

func (s *sockets) dial(path string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			conn.Close()
			return nil, net.ErrClosed
		}
		s.all = append(s.all, conn)
		return conn, nil
	}
}

func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, conn := range s.all {
		conn.Close()
	}
}

func (c *client) wait(ctx context.Context, id string) (int, error) {
	// podman looks four times a second by default.
	code, err := containers.Wait(c.with(ctx), id, new(containers.WaitOptions).WithInterval("10ms"))
	return int(code), err
}

func (c *client) stop(ctx context.Context, id string, seconds uint) error {
	return containers.Stop(c.with(ctx), id, new(containers.StopOptions).WithTimeout(seconds).WithIgnore(true))
}

func (c *client) remove(ctx context.Context, id string) error {
	options := new(containers.RemoveOptions).WithForce(true).WithIgnore(true).WithVolumes(true).WithTimeout(0)
	reports, err := containers.Remove(c.with(ctx), id, options)
	for _, r := range reports {
		if err == nil {
			err = r.Err
		}
	}
	return err
}

func (c *client) logs(ctx context.Context, id string, follow bool, stdout, stderr io.Writer) error {
	out, errs, done := make(chan string), make(chan string), make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := new(containers.LogOptions).WithFollow(follow).WithStdout(true).WithStderr(true)
	go func() { done <- containers.Logs(c.with(ctx), id, options, out, errs) }()
	var broken error
	write := func(w io.Writer, s string) {
		if broken == nil { // the bindings block until every line is taken
			if _, broken = io.WriteString(w, s); broken != nil {
				cancel()
			}
		}
	}
	for {
		select {
		case s := <-out:
			write(stdout, s)
		case s := <-errs:
			write(stderr, s)
		case err := <-done:
			if broken != nil {
				return broken
			}
			return err
		}
	}
}

func (c *client) inspect(ctx context.Context, id string) (State, error) {
	data, err := containers.Inspect(c.with(ctx), id, nil)
	if err != nil {
		return State{}, err
	}
	s := State{Status: data.State.Status, PID: data.State.Pid, ExitCode: int(data.State.ExitCode), OOM: data.State.OOMKilled}
	if data.NetworkSettings != nil {
		s.NetNS = data.NetworkSettings.SandboxKey
	}
	return s, nil
}

func (c *client) list(ctx context.Context, label string) ([]string, error) {
	options := new(containers.ListOptions).WithAll(true).WithFilters(map[string][]string{"label": {label}})
	all, err := containers.List(c.with(ctx), options)
	var ids []string
	for _, l := range all {
		ids = append(ids, l.ID)
	}
	return ids, err
}

func (c *client) makeVolume(ctx context.Context, name string, options map[string]string) error {
	if there, err := volumes.Exists(c.with(ctx), name, nil); err != nil {
		return err
	} else if there { // of a launcher that died
		if err := c.removeVolume(ctx, name); err != nil {
			return err
		}
	}
	_, err := volumes.Create(c.with(ctx), types.VolumeCreateOptions{Name: name, Driver: "local", Options: options}, nil)
	return err
}

func (c *client) removeVolume(ctx context.Context, name string) error {
	v, err := volumes.Inspect(c.with(ctx), name, nil)
	if err != nil {
		return err
	}
	// podman 4.3 mounts a volume twice for a container in a user namespace, and
	// unmounts it once.
	for unix.Unmount(v.Mountpoint, unix.MNT_DETACH) == nil {
	}
	return volumes.Remove(c.with(ctx), name, nil)
}

func (c *client) hasImage(ctx context.Context, name string) (bool, error) {
	return images.Exists(c.with(ctx), name, nil)
}

func (c *client) importImage(ctx context.Context, name string, tar io.Reader, changes []string) error {
	_, err := images.Import(c.with(ctx), tar, new(images.ImportOptions).WithReference(name).WithChanges(changes))
	return err
}

func (c *client) buildImage(ctx context.Context, name, containerfile string, progress io.Writer) error {
	_, err := images.Build(c.with(ctx), []string{containerfile}, types.BuildOptions{BuildOptions: buildah.BuildOptions{
		ContextDirectory: filepath.Dir(containerfile),
		Output:           name,
		OutputFormat:     buildah.OCIv1ImageManifest,
		PullPolicy:       buildah.PullIfMissing,
		Isolation:        buildah.IsolationOCI,
		CommonBuildOpts:  &buildah.CommonBuildOptions{},
		Out:              progress,
		Err:              progress,
		ReportWriter:     progress,
		Layers:           false,
	}})
	return err
}
