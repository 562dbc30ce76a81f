package podman

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// deaf is a podman that has lost a container's state: it says that what it stops is
// stopped, stops nothing, and waits for the end of what it does not know.
type deaf struct{ api }

func (deaf) stop(context.Context, string, uint) error { return nil }

func (deaf) wait(ctx context.Context, _ string) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestStoppedEndsAnyway: what podman says is stopped has lost its life as well, and nobody
// waits for ever for a podman that does not know how it ended.
func TestStoppedEndsAnyway(t *testing.T) {
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	defer far.Close()
	c := &Container{engine: &Engine{api: deaf{}}, life: &life{listener: listener, dir: t.TempDir(), conn: near}}
	if err := c.Stop(t.Context(), time.Second); err != nil || !c.life.over {
		t.Errorf("%v; its life is over: %v", err, c.life.over)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := (&Container{engine: &Engine{api: deaf{}}, pid: ended.Process.Pid}).Wait(t.Context()); err == nil {
			t.Error("a podman that does not answer is believed")
		}
	})
	// One that cannot be watched may run on, for longer than podman has to report an end.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*removal)
		defer cancel()
		start := time.Now()
		if _, err := (&Container{engine: &Engine{api: deaf{}}}).Wait(ctx); err == nil || time.Since(start) < 2*removal {
			t.Errorf("given up after %s: %v", time.Since(start), err)
		}
	})
}
