//go:build remote && containers_image_openpgp

package podman

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/containers/podman/v5/pkg/bindings/containers"
	"github.com/containers/podman/v5/pkg/bindings/images"
	"github.com/containers/podman/v5/pkg/bindings/system"
	"github.com/containers/podman/v5/pkg/bindings/volumes"
	"github.com/containers/podman/v5/pkg/domain/entities/types"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	buildah "github.com/containers/buildah/define"
)

// client uses podman's bindings, which keep their connection in a context.
type client struct {
	uri  string
	conn context.Context
}

func dial(ctx context.Context, socket string) (api, error) {
	// The bindings log to stderr what they also return, and normal events, such as a command
	// that ended before it had read its stdin.
	logrus.SetOutput(io.Discard)
	c := &client{uri: "unix://" + socket}
	conn, err := bindings.NewConnection(ctx, c.uri)
	if err != nil {
		return nil, err
	}
	c.conn = context.WithoutCancel(conn)
	return c, nil
}

// joined combines the connection's values with the end of the caller's context.
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

func (c *client) storage(ctx context.Context) (string, error) {
	i, err := system.Info(c.with(ctx), nil)
	if err != nil || i.Store == nil {
		return "", err
	}
	return i.Store.GraphRoot, nil
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

func (c *client) wait(ctx context.Context, id string) (int, error) {
	for {
		// podman looks four times a second by default.
		code, err := containers.Wait(c.with(ctx), id, new(containers.WaitOptions).WithInterval("10ms"))
		// Podman's cleanup removes the network namespace before it records the container's
		// end. A request in between returns a server error.
		if status, known := bindings.CheckResponseCode(err); err == nil || known != nil || status != http.StatusInternalServerError {
			return int(code), err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(20 * time.Millisecond): // podman does not announce that it has recorded it
		}
	}
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

func (c *client) inspect(ctx context.Context, id string) (State, error) {
	data, err := containers.Inspect(c.with(ctx), id, nil)
	if err != nil {
		return State{}, err
	}
	return State{Status: data.State.Status, PID: data.State.Pid}, nil
}

func (c *client) list(ctx context.Context, label string, is func(names []string) bool) (ids []string, err error) {
	// Without the filter podman looks at all users' containers, and fails at a damaged one.
	options := new(containers.ListOptions).WithAll(true).WithExternal(is != nil).WithFilters(map[string][]string{"label": {label}})
	all, err := containers.List(c.with(ctx), options)
	for _, l := range all {
		if len(l.Labels) > 0 || is(l.Names) {
			ids = append(ids, l.ID)
		}
	}
	return ids, err
}

func (c *client) makeVolume(ctx context.Context, name, label string, options map[string]string) error {
	if there, err := volumes.Exists(c.with(ctx), name, nil); err != nil {
		return err
	} else if there { // of a dead launcher
		if err := c.removeVolume(ctx, name); err != nil {
			return err
		}
	}
	_, err := volumes.Create(c.with(ctx), types.VolumeCreateOptions{Name: name, Driver: "local", Options: options, Label: map[string]string{labelRun: label}}, nil)
	return err
}

func (c *client) volumes(ctx context.Context) (map[string]string, error) {
	all, err := volumes.List(c.with(ctx), new(volumes.ListOptions).WithFilters(map[string][]string{"label": {labelRun}}))
	runs := map[string]string{}
	for _, v := range all {
		runs[v.Name] = v.Labels[labelRun]
	}
	return runs, err
}

func (c *client) removeVolume(ctx context.Context, name string) error {
	v, err := volumes.Inspect(c.with(ctx), name, nil)
	if err != nil {
		return err
	}
	// podman 4.3 mounts a volume twice for a container in a user namespace, and unmounts it
	// once.
	for unix.Unmount(v.Mountpoint, unix.MNT_DETACH) == nil {
	}
	return volumes.Remove(c.with(ctx), name, nil)
}

func (c *client) hasImage(ctx context.Context, name string) (bool, error) {
	return images.Exists(c.with(ctx), name, nil)
}

func (c *client) imageID(ctx context.Context, name string) (string, error) {
	report, err := images.GetImage(c.with(ctx), name, nil)
	if err != nil {
		return "", err
	}
	return report.ID, nil
}

func (c *client) imageLabels(ctx context.Context, name string) (map[string]string, error) {
	report, err := images.GetImage(c.with(ctx), name, nil)
	if err != nil {
		return nil, err
	}
	return report.Labels, nil
}

func (c *client) importImage(ctx context.Context, name string, tar io.Reader, changes []string) error {
	_, err := images.Import(c.with(ctx), tar, new(images.ImportOptions).WithReference(name).WithChanges(changes))
	return err
}

func (c *client) buildImage(ctx context.Context, name, from, by, containerfile string, progress io.Writer) (err error) {
	there, err := c.hasImage(ctx, from)
	if err == nil && !there {
		_, err = images.Pull(c.with(ctx), from, new(images.PullOptions).WithProgressWriter(progress))
	}
	repo, tag, _ := strings.Cut(by, ":")
	if err == nil {
		err = images.Tag(c.with(ctx), from, tag, repo, nil)
	}
	if err != nil {
		return err
	}
	_, err = images.Build(c.with(ctx), []string{containerfile}, types.BuildOptions{BuildOptions: buildah.BuildOptions{
		ContextDirectory: filepath.Dir(containerfile),
		From:             by,
		Output:           name,
		OutputFormat:     buildah.OCIv1ImageManifest,
		PullPolicy:       buildah.PullNever,
		Isolation:        buildah.IsolationOCI,
		CommonBuildOpts:  &buildah.CommonBuildOptions{},
		Out:              progress,
		Err:              progress,
		ReportWriter:     progress,
		Layers:           false,
	}})
	if err != nil {
		return err
	}
	return c.untagImage(ctx, by)
}

func (c *client) imageNames(ctx context.Context) (names []string, err error) {
	all, err := images.List(c.with(ctx), nil)
	for _, i := range all {
		names = append(names, i.RepoTags...)
	}
	return names, err
}

func (c *client) untagImage(ctx context.Context, name string) error {
	repo, tag, _ := strings.Cut(name, ":")
	return images.Untag(c.with(ctx), name, tag, repo, nil)
}
