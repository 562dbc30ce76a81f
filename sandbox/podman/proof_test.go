package podman

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"git-ward/sandbox/probe"
)

// waiting is podman with one container, which ends when it is closed.
type waiting struct {
	api
	ended chan struct{}
}

func (w *waiting) wait(ctx context.Context, _ string) (int, error) {
	select {
	case <-w.ended:
		return 2, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// A container's command has leave to start when its first process has said that the fence
// holds, and in no other case.
func TestProof(t *testing.T) {
	const patience = time.Minute // by the test's own clock
	for what, c := range map[string]struct {
		says string // the first process; "" for nothing
		ends bool   // it does, after it has spoken
		want string // of the error; "" for leave
	}{
		"it holds":            {says: `{"tried":54}` + "\n"},
		"a promise is broken": {says: `{"tried":3,"broken":{"id":"SBX-2","promise":"refused","detail":"CONN\u001bECTED"}}` + "\n", ends: true, want: "the fence does not hold: refused (SBX-2): CONN"},
		"nothing was tried":   {says: "{}\n", want: "was not tried"},
		"no sense":            {says: "held\n", want: "nothing that can be read"},
		"no end":              {says: strings.Repeat("x", 1<<16+1), want: "before it said anything"},
		"half a word":         {says: `{"tried":54}`, ends: true, want: "before it said anything"},
		"killed":              {ends: true, want: "before it said"},
		"it hangs":            {want: "not said within"},
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			w := &waiting{ended: make(chan struct{})}
			container := &Container{engine: &Engine{api: w}, life: &life{proof: make(chan error, 1)}}
			go func() { container.life.proof <- probe.Heed(near) }()
			leave := make(chan bool, 1)
			go func() {
				io.WriteString(far, c.says)
				if c.ends {
					far.Close()
					close(w.ended)
				}
				n, _ := far.Read(make([]byte, 1))
				leave <- n == 1
			}()
			err := container.proved(t.Context(), patience)
			near.Close()
			given := <-leave
			if c.want == "" && (err != nil || !given) {
				t.Errorf("%s: %v, leave %v", what, err, given)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\x1b") || given) {
				t.Errorf("%s: %v, leave %v; want %s", what, err, given, c.want)
			}
		})
	}
}

// A launch that is ended says why, and does not blame the fence.
func TestProofIsCancelled(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	c := &Container{engine: &Engine{api: &waiting{ended: make(chan struct{})}}, life: &life{proof: make(chan error, 1)}}
	if err := c.proved(ctx, time.Minute); !errors.Is(err, stopped) {
		t.Error(err)
	}
}
