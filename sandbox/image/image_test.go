package image_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/sandbox/image"
	"git-ward/sandbox/podman"
)

func TestName(t *testing.T) {
	a := image.Recipe{Suite: "bookworm", Packages: []string{"make", "gcc", "git"}}
	b := image.Recipe{Suite: "bookworm", Packages: []string{"gcc", "make"}}
	c := image.Recipe{Suite: "trixie", Packages: []string{"gcc", "make"}}
	if a.Name() != b.Name() || a.Name() == c.Name() {
		t.Error(a.Name(), b.Name(), c.Name())
	}
}

func TestComplete(t *testing.T) {
	for _, r := range []image.Recipe{
		{Packages: []string{"--hook"}}, {Packages: []string{"a b"}}, {Packages: []string{"git\nRUN x"}},
		{Suite: "--mode"}, {Suite: "../x"}, {From: "-x"}, {From: "a\nRUN b"}, {From: "a b"},
	} {
		if err := r.Complete(); err == nil {
			t.Errorf("%+v passes", r)
		}
	}
	r := image.Recipe{From: "registry.example/debian:12@sha256:00"}
	if err := r.Complete(); err != nil {
		t.Error(err)
	}
}

// have is a store that has every image, or fails.
type have struct {
	dir string
	err error
}

func (h have) Dir(context.Context) (string, error) { return h.dir, nil }

func (h have) HasImage(context.Context, string) (bool, error) { return h.err == nil, h.err }
func (have) ImportImage(context.Context, string, *os.File, []string) error {
	return errors.New("imported")
}
func (have) BuildImage(context.Context, string, string, io.Writer) error { return errors.New("built") }

func TestOnce(t *testing.T) {
	o := image.Options{Recipe: image.Recipe{From: "base"}}
	if name, err := image.Build(t.Context(), have{dir: t.TempDir()}, o); err != nil || name != o.Recipe.Name() {
		t.Error(name, err)
	}
	o.Force = true
	if _, err := image.Build(t.Context(), have{dir: t.TempDir()}, o); err == nil || err.Error() != "built" {
		t.Error(err)
	}
	gone := errors.New("gone")
	if _, err := image.Build(t.Context(), have{err: gone}, o); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// TestFrom builds on top of an image that is there, as on one of a registry.
func TestFrom(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("SKIPPED, out loud: podman is not installed; scripts/setup does it")
	}
	storage, err := os.MkdirTemp("/var/tmp", "wi-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Unmount(filepath.Join(storage, "root/overlay"), syscall.MNT_DETACH)
		os.RemoveAll(storage)
	})
	e, err := podman.Connect(t.Context(), podman.Options{Owner: "image", Storage: storage})
	if errors.Is(err, podman.ErrNoBindings) {
		t.Skip("SKIPPED, out loud: no bindings; see scripts/test for the tags")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	cache := "/var/tmp/git-ward-test"
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	base, err := image.Build(t.Context(), e, image.Options{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	name, err := image.Build(t.Context(), e, image.Options{Recipe: image.Recipe{From: base}, Progress: &said})
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	if there, err := e.HasImage(t.Context(), name); !there || err != nil {
		t.Error(there, err)
	}
}
