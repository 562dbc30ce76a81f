package podman_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/tier"
	"git-ward/sandbox/podman"
)

// podmanSays is what podman says of this run's storage, by words after those that name it.
func podmanSays(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("podman", append(storageArgs(), args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("podman %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func storageArgs() []string {
	return []string{"--root", storage + "/root", "--runroot", storage + "/run", "--tmpdir", storage + "/tmp", "--storage-driver", "overlay"}
}

// building is an image that is never whole, and left what podman has of builds.
func building(t *testing.T) (containerfile string, left func() string) {
	containerfile = filepath.Join(t.TempDir(), "Containerfile")
	if err := os.WriteFile(containerfile, []byte("FROM nobody.example/none\nRUN sleep 300\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return containerfile, func() string {
		names := podmanSays(t, "ps", "--all", "--external", "--format", "{{.Names}}")
		for name := range strings.Lines(podmanSays(t, "images", "--format", "{{.Repository}}:{{.Tag}}")) {
			if strings.Contains(name, "-build:") {
				names += name
			}
		}
		return names
	}
}

func builder(t *testing.T, owner string) *podman.Engine {
	t.Helper()
	connect(t, owner).Close() // or the test is skipped
	e, err := podman.Connect(t.Context(), podman.Options{Owner: owner, Storage: storage, Builds: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBuildStopped: of a build that is stopped midway nothing is left when the engine is closed,
// and of one of which everything was killed nothing after the next sweep of its owner; what
// somebody else builds with the same podman stays.
func TestBuildStopped(t *testing.T) {
	tier.Full(t, "it builds an image")
	base, err := imageName()
	if err != nil {
		t.Fatal(err)
	}
	containerfile, left := building(t)
	theirs := strings.TrimSpace(podmanSays(t, "create", base, "true"))
	defer podmanSays(t, "rm", theirs)
	before := left()

	e := builder(t, "builder")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.BuildImage(ctx, "localhost/half:1", base, containerfile, os.Stderr) }()
	await.True(t, "that it builds", func() bool { return strings.Contains(left(), "working-container") })
	if now := left(); strings.Count(now, "git-ward-builder-") != 2 {
		t.Errorf("what a build makes has no mark: %s", now)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("it was built")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if now := left(); now != before {
		t.Errorf("left of a build that was stopped: %q, and before there was %q", now, before)
	}

	// As if reaper and all had been killed.
	const killed = "localhost/git-ward-builder-abcdefgh234567-build:from"
	other := "localhost/git-ward-builder-of-others-abcdefgh234567-build:from"
	for _, name := range []string{killed, other} {
		podmanSays(t, "tag", base, name)
		killBuild(t, name)
	}
	if now := left(); strings.Count(now, "builder") != 4 {
		t.Fatalf("there is %q", now)
	}
	e = builder(t, "builder")
	defer e.Close()
	if n, err := e.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if now := left(); strings.Contains(now, "builder-abcdefgh") || strings.Count(now, "builder-of-others") != 2 {
		t.Errorf("left: %q", now)
	}
	podmanSays(t, "rm", "--force", "git-ward-builder-of-others-abcdefgh234567-build-working-container")
	podmanSays(t, "untag", other, other)
}

// killBuild kills podman while it builds on an image, whose container it leaves.
func killBuild(t *testing.T, from string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/Containerfile", []byte("FROM nobody.example/none\nRUN sleep 5\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("podman", append(storageArgs(), "build", "--isolation", "oci", "--layers=false", "--from", from, "--tag", "localhost/half:2", dir)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(from), ":from") + "-working-container"
	await.True(t, "that it builds", func() bool {
		return strings.Contains(podmanSays(t, "ps", "--all", "--external", "--format", "{{.Names}}"), name)
	})
	cmd.Process.Kill()
	cmd.Wait()
}
