package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/process"
)

// Cluster is the API server that kubectl is configured for. `kubectl proxy` on our socket
// handles contexts, certificates and the clouds' login programs. The API's own JSON comes
// through it, so no error is recognised by its text.
type Cluster struct {
	Namespace string
	http      *http.Client
	child     *child // nil in tests
}

// child is `kubectl proxy`.
type child struct {
	program, socket string
	said            atomic.Pointer[string] // its last complaint
}

// The pauses before another kubectl, doubled from the first to the longest.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// Connect finds kubectl. It sends nothing to the cluster before Serve runs.
func Connect(namespace, dir string) (*Cluster, error) {
	program, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, diag.Hint(errors.New("kubectl, which makes the Jobs, is not installed"), "install it and its kubeconfig for this user (docs/cluster.md)")
	}
	c := &child{program: program, socket: filepath.Join(dir, "kubectl")}
	return &Cluster{Namespace: namespace, http: client(c.socket), child: c}, nil
}

// client uses a socket. It has no timeout, because a watch sets its own.
func client(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
	}}
}

// Serve keeps kubectl running until ctx ends.
func (c *Cluster) Serve(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		start := time.Now()
		err := c.child.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			c.child.complain([]byte(err.Error()))
		}
		if time.Since(start) > longestPause {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// run runs one kubectl to its end. It gets this process's environment, which configures
// kubeconfig and cloud logins, but not a model's variables.
func (c *child) run(ctx context.Context) error {
	if err := os.Remove(c.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	kubectl := process.Command{
		Args:   []string{c.program, "proxy", "--unix-socket=" + c.socket},
		Env:    withoutModels(os.Environ()),
		Stderr: complaints{c}, DieWithThread: true, Grace: 2 * time.Second,
	}
	_, _, err := kubectl.Run(ctx)
	return err
}

func withoutModels(env []string) (rest []string) {
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "ANTHROPIC_") && !strings.HasPrefix(name, "OPENAI_") {
			rest = append(rest, v)
		}
	}
	return rest
}

// complaints keeps the last line of kubectl's stderr.
type complaints struct{ *child }

func (c complaints) Write(p []byte) (int, error) {
	c.complain(p)
	return len(p), nil
}

func (c *child) complain(text []byte) {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := diag.Clean(diag.Cut(lines[len(lines)-1], 300)); last != "" {
		c.said.Store(&last)
	}
}

// away is the error of a call without an answer.
func (c *Cluster) away(err error) error {
	text := "the cluster's API server does not answer"
	if c.child != nil {
		if said := c.child.said.Load(); said != nil {
			text += " (kubectl: " + *said + ")"
		}
	}
	return &Away{diag.Hint(fmt.Errorf("%s: %w", text, err), "running Jobs continue, and Ward asks again by itself; `kubectl get --raw /readyz` as this user says whether it is there")}
}
