package podman_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"git-ward/internal/benchtest"
	"git-ward/internal/tier"
	"git-ward/sandbox/podman"
)

// firstByte notes when something was written first.
type firstByte struct{ at time.Time }

func (f *firstByte) Write(p []byte) (int, error) {
	if f.at.IsZero() {
		f.at = time.Now()
	}
	return len(p), nil
}

// TestBenchSpeed prints the time from nothing to the first byte of output, against
// plain `podman run` of the same image in turn. It asserts nothing about time.
func TestBenchSpeed(t *testing.T) {
	tier.Full(t, "it starts podman")
	benchtest.Only(t)
	e := connect(t, "speed")
	for _, network := range []podman.Network{podman.NetworkNone, podman.NetworkPublic} {
		var warm, cold, plain []time.Duration
		s := spec(t, "echo x")
		s.Network = network
		for range 7 {
			warm = append(warm, launch(t, e, s))
			cold = append(cold, launchCold(t, s))
			plain = append(plain, plainRun(t, s, os.Geteuid() != 0))
		}
		w, c, p := benchtest.Median(warm), benchtest.Median(cold), benchtest.Median(plain)
		t.Logf("%s: service there %v, service started %v, podman run %v: %.2f and %.2f of it", network,
			w.Round(time.Millisecond), c.Round(time.Millisecond), p.Round(time.Millisecond), float64(w)/float64(p), float64(c)/float64(p))
		benchtest.Against(fmt.Sprintf("container of network %s to first byte, service there", network), w, "podman run", p)
	}
}

func launch(t *testing.T, e *podman.Engine, s *podman.Spec) time.Duration {
	ctx, start := t.Context(), time.Now()
	c, err := e.Create(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Remove(ctx)
	if _, err := c.Init(ctx); err != nil {
		t.Fatal(err)
	}
	var f firstByte
	wait := c.Attach(ctx, podman.Streams{Stdout: &f, Stderr: io.Discard})
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	wait()
	return f.at.Sub(start)
}

func launchCold(t *testing.T, s *podman.Spec) time.Duration {
	start := time.Now()
	e, err := podman.Connect(t.Context(), podman.Options{Owner: "cold", Storage: storage})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	connected := time.Since(start)
	return connected + launch(t, e, s)
}

func plainRun(t *testing.T, s *podman.Spec, rootless bool) time.Duration {
	network := "none"
	if s.Network == podman.NetworkPublic {
		network = map[bool]string{true: "slirp4netns", false: "bridge"}[rootless]
	}
	conf := filepath.Join(t.TempDir(), "containers.conf")
	os.WriteFile(conf, []byte("[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n"), 0o644)
	cmd := exec.Command("podman", append([]string{
		"--root", storage + "/root", "--runroot", storage + "/run", "--tmpdir", storage + "/tmp", "--storage-driver", "overlay",
		"run", "--rm", "--network", network, "--ulimit", "nproc=64:64", "--ulimit", "nofile=1024:1024", s.Image}, s.Command...)...)
	cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+conf)
	var f firstByte
	cmd.Stdout = &f
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return f.at.Sub(start)
}
