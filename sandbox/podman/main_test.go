package podman_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

// cache keeps the image's archive from one run to the next; it is named by its
// content.
const cache = "/var/tmp/git-ward-test"

// storage is this run's own, so that the user's images and containers are not
// touched. Below /var/tmp, because overlay needs a disk, and short, because
// socket paths are.
var storage string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == podman.ReaperVerb {
		if err := podman.Reap(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("WARD_TEST_LAUNCHER") != "" {
		launcher()
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	var err error
	base := cmp.Or(os.Getenv("WARD_TEST_DIR"), "/var/tmp")
	if storage, err = os.MkdirTemp(base, "wp-"); err != nil {
		return 1, err
	}
	defer func() {
		// podman keeps its store a mount of its own.
		syscall.Unmount(filepath.Join(storage, "root/overlay"), syscall.MNT_DETACH)
		os.RemoveAll(storage)
	}()
	return m.Run(), nil
}

// connect gives an engine on this run's storage, with the image.
func connect(t testing.TB, owner string) *podman.Engine {
	t.Helper()
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("SKIPPED: podman is not installed; scripts/setup does it")
	}
	e, err := podman.Connect(t.Context(), podman.Options{Owner: owner, Storage: storage})
	if errors.Is(err, podman.ErrNoBindings) {
		t.Skip("SKIPPED: no bindings; go test -tags remote,containers_image_openpgp,exclude_graphdriver_btrfs")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

var imageName = sync.OnceValues(func() (string, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	ctx := context.Background()
	e, err := podman.Connect(ctx, podman.Options{Owner: "image", Storage: storage})
	if err != nil {
		return "", err
	}
	defer e.Close()
	return image.Build(ctx, e, image.Options{Cache: cache, Progress: os.Stderr})
})

// spec is a fenced container that runs a line of shell.
func spec(t testing.TB, line string) *podman.Spec {
	t.Helper()
	name, err := imageName()
	if err != nil {
		t.Fatal(err)
	}
	return &podman.Spec{
		Image: name, Command: []string{"/bin/bash", "-c", line}, Hostname: "ward", Dir: "/bot",
		User: "1000:1000", NoNewPrivileges: true, ReadOnlyRoot: true, Network: podman.NetworkNone,
		Mounts: []podman.Mount{
			{Kind: podman.Tmpfs, Target: "/tmp", Size: 8 << 20},
			{Kind: podman.Tmpfs, Target: "/bot", Size: 8 << 20},
		},
		Limits: podman.Limits{Processes: 64, Memory: 256 << 20, CPUs: 1, Files: 1024},
	}
}

// output runs a container to its end.
func output(t testing.TB, e *podman.Engine, s *podman.Spec, in string) (out, errs string, code int) {
	t.Helper()
	ctx := t.Context()
	c, err := e.Create(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Remove(ctx)
	if _, err := c.Init(ctx); err != nil {
		t.Fatal(err)
	}
	var o, x strings.Builder
	streams := podman.Streams{Stdout: &o, Stderr: &x}
	if s.Stdin {
		streams.Stdin = strings.NewReader(in)
	}
	wait := c.Attach(ctx, streams)
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if code, err = c.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return o.String(), x.String(), code
}
