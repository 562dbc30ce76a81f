package image_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/flock"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
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

// TestOf: what an image's labels say makes the same image again.
func TestOf(t *testing.T) {
	for _, r := range []image.Recipe{{Packages: []string{"make", "g++"}}, {From: "registry.example/debian:12"}} {
		labels := map[string]string{}
		for _, line := range r.Lines() {
			if label, ok := strings.CutPrefix(line, "LABEL "); ok {
				key, value, _ := strings.Cut(label, "=")
				labels[key] = value
			}
		}
		if has, ok := image.Of(labels); !ok || has.Name() != r.Name() {
			t.Errorf("%+v of %v, want %+v", has, labels, r)
		}
	}
	if _, ok := image.Of(nil); ok {
		t.Error("an image without labels says what it has")
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
func (have) BuildImage(context.Context, string, string, string, io.Writer) error {
	return errors.New("built")
}
func (have) Sweep(context.Context) (int, error) { return 0, nil }

func TestOnce(t *testing.T) {
	o := image.Options{Recipe: image.Recipe{From: "base"}}
	if name, err := image.Build(t.Context(), have{dir: t.TempDir()}, o); err != nil || name != o.Recipe.Name() {
		t.Error(name, err)
	}
	o.Force = true
	if _, err := image.Build(t.Context(), have{dir: t.TempDir()}, o); err == nil || err.Error() != "an image on top of base: built" {
		t.Error(err)
	}
	gone := errors.New("gone")
	if _, err := image.Build(t.Context(), have{err: gone}, o); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// releases is the progress of a build that waits: once it says so, the other one has ended.
type releases struct {
	said  *bytes.Buffer
	other *os.File
}

func (r releases) Write(line []byte) (int, error) {
	r.other.Close()
	return r.said.Write(line)
}

// TestWaits: whoever waits for another build is told so, and may stop waiting.
func TestWaits(t *testing.T) {
	dir := t.TempDir()
	other, err := flock.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := image.Options{Recipe: image.Recipe{From: "base"}, Force: true}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := image.Build(ctx, have{dir: dir}, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var said bytes.Buffer
	o.Progress = releases{&said, other}
	if _, err := image.Build(t.Context(), have{dir: dir}, o); err == nil || err.Error() != "an image on top of base: built" {
		t.Error(err)
	}
	gittest.InOrder(t, said.String(), "another build is at work in "+dir)
}

// run is a store that runs the first command of a Containerfile in an image that has these programs
// alone.
type run struct {
	have
	programs []string
}

func (run) HasImage(context.Context, string) (bool, error) { return false, nil }

func (r run) BuildImage(ctx context.Context, _, _, containerfile string, _ io.Writer) error {
	text, err := os.ReadFile(containerfile)
	if err != nil {
		return err
	}
	_, script, _ := strings.Cut(string(text), "\nRUN ")
	script, _, _ = strings.Cut(script, " && sh /tmp/customize.sh")
	bin := filepath.Join(filepath.Dir(containerfile), "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	for _, p := range r.programs {
		if err := gittest.WriteProgram(filepath.Join(bin, p), "#!/bin/sh\n"); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=" + bin}
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return nil
}

// TestNeeds: an image in which no agent could work is refused when it is built, with what it lacks
// and a remedy.
func TestNeeds(t *testing.T) {
	for programs, want := range map[string]string{
		"":                 "an image on top of base: the image has no bash",
		"bash":             "an image on top of base: the image has no git",
		"bash git":         "",
		"bash git apt-get": "",
		"bash apt-get":     "an image on top of base: the image has no git", // which installs nothing here
	} {
		_, err := image.Build(t.Context(), run{have{dir: t.TempDir()}, strings.Fields(programs)}, image.Options{Recipe: image.Recipe{From: "base"}})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want || len(diag.Hints(err)) != 1) {
			t.Errorf("%q: %v", programs, err)
		}
	}
}

// TestFrom builds on top of an image that is there, as on one of a registry.
func TestFrom(t *testing.T) {
	tier.Full(t, "it builds images")
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("SKIPPED: podman is not installed; scripts/setup does it")
	}
	storage, err := os.MkdirTemp("/var/tmp", "wi-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Unmount(filepath.Join(storage, "root/overlay"), syscall.MNT_DETACH)
		os.RemoveAll(storage)
	})
	e, err := podman.Connect(t.Context(), podman.Options{Owner: "image", Storage: storage, Builds: true})
	if errors.Is(err, podman.ErrNoBindings) {
		t.Skip("SKIPPED: no bindings; see scripts/test for the tags")
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
	for made, r := range map[string]image.Recipe{base: {}, name: {From: base}} {
		labels, err := e.ImageLabels(t.Context(), made)
		if has, ok := image.Of(labels); err != nil || !ok || has.From != r.From || !slices.Contains(has.Packages, "universal-ctags") {
			t.Errorf("%s says %v: %v", made, labels, err)
		}
	}
}

// pods is a store that builds on what it is told to have, and remembers how.
type pods struct {
	have
	there map[string]bool
	built []string
}

func (p *pods) HasImage(_ context.Context, name string) (bool, error) { return p.there[name], nil }
func (p *pods) BuildImage(_ context.Context, name, _, containerfile string, _ io.Writer) error {
	text, err := os.ReadFile(containerfile)
	if err != nil {
		return err
	}
	programs, err := filepath.Glob(filepath.Join(filepath.Dir(containerfile), "bin", "*"))
	p.built, p.there[name] = append(p.built, name+"\n"+string(text)+strings.Join(programs, "\n")), true
	return err
}

// Pods find Ward's programs in their image, and new programs make a new one.
func TestPodImage(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "ward-inside"), filepath.Join(dir, "ward-agent")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(a, "one")
	write(b, "two")
	store := &pods{have: have{dir: t.TempDir()}, there: map[string]bool{}}
	build := func(programs ...string) string {
		name, err := image.BuildPod(t.Context(), store, image.Options{Recipe: image.Recipe{From: "base"}}, programs)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	first := build(a, b)
	if len(store.built) != 2 || !strings.Contains(store.built[0], "openssh-client") || !strings.Contains(store.built[1], "COPY bin/ /ward/bin/") ||
		!strings.HasSuffix(store.built[1], "/bin/ward-inside") || strings.Count(store.built[1], "/bin/ward-agent") != 1 {
		t.Errorf("%q", store.built)
	}
	if again := build(b, a); again != first || len(store.built) != 2 {
		t.Errorf("the same programs make %s and %s: %d", first, again, len(store.built))
	}
	write(b, "three")
	if second := build(a, b); second == first || len(store.built) != 3 {
		t.Errorf("new programs make %s and %s", first, second)
	}
	if _, err := image.BuildPod(t.Context(), store, image.Options{Recipe: image.Recipe{From: "base"}}, []string{filepath.Join(dir, "none")}); err == nil {
		t.Error("a program that is not there makes an image")
	}
}
