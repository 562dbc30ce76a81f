package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"git-ward/internal/await"
	"git-ward/internal/config"
	"git-ward/internal/configtest"
	"git-ward/internal/git"
	"git-ward/internal/gittest"
	"git-ward/internal/process"
	"git-ward/sandbox/door"
	"git-ward/sandbox/judge"
	"git-ward/sandbox/verifier"
)

// host is a guarded repository with the door and the judge that a launch has, and what
// lets a test count the agent's pushes and do something between two of them: a socket
// in front of the door.
type host struct {
	*gittest.Pair
	state    string // the agent's
	config   string // the settings' file
	socket   string // in front of the door
	door     string
	log      syncBuffer
	atPush   chan atPush // one: what the running agent's pushes are to meet
	agentRun time.Duration
}

// atPush is what happens at a push of the agent's, the first is 1.
type atPush struct {
	number int    // 0: nothing happens
	late   bool   // it happens when the push is done, and its answer is lost
	kill   bool   // the agent is killed
	do     func() // or this happens before the push goes on
	in     string // or it happens where the worker has come to that place (work.sh)
	seen   int
	cmd    *exec.Cmd
}

// syncBuffer is a log that several write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}
func (s *syncBuffer) String() string { s.mu.Lock(); defer s.mu.Unlock(); return s.b.String() }

// newHost makes the repository, and serves it until the test ends. The door delays
// nothing, and a unit that failed for a passing reason is tried again after a second:
// both are for the test's time only.
func newHost(t *testing.T, pair *gittest.Pair) *host {
	h := &host{Pair: pair, atPush: make(chan atPush, 1)}
	dir := filepath.Dir(h.Bare)
	h.state = filepath.Join(dir, "state")
	h.config = filepath.Join(h.Bare, "ward", "config.toml")
	configtest.Set(t, h.Bare, "burst = 100000", `[agent] poll = "1s"`)
	settings, err := config.Load(h.Bare)
	if err != nil {
		t.Fatal(err)
	}
	h.serve(t, settings)
	return h
}

// serve opens the door, and the socket before it, and starts the judge.
func (h *host) serve(t *testing.T, settings *config.Config) {
	log := zerolog.New(&h.log)
	d, err := door.Listen(door.Config{Bare: h.Bare, Settings: settings, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	h.door = d.Socket()
	h.socket = filepath.Join(filepath.Dir(filepath.Dir(h.door)), "front")
	front, err := net.Listen("unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	repo := git.Open(h.Bare)
	places, err := verifier.NewPlaces()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { places.Close() })
	runner := &verifier.Processes{Limits: verifier.Limits{Time: settings.Verify.Timeout.Duration, Output: settings.Verify.OutputSize}, Places: places}
	j := &judge.Judge{Repo: repo, Settings: settings, Log: log, Verify: func(ctx context.Context, claim verifier.Claim) (*verifier.Facts, error) {
		return verifier.Verify(ctx, repo, runner, claim)
	}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var served sync.WaitGroup
	served.Go(func() { d.Serve(ctx) })
	served.Go(func() { j.Serve(ctx) })
	served.Go(func() { h.accept(front) })
	t.Cleanup(func() { front.Close(); cancel(); served.Wait() })
}

func (h *host) accept(front net.Listener) {
	var pushes sync.WaitGroup
	defer pushes.Wait()
	for {
		conn, err := front.Accept()
		if err != nil {
			return
		}
		pushes.Go(func() { h.push(conn.(*net.UnixConn)) })
	}
}

// push is one push of the agent's, with what is to happen at it.
func (h *host) push(client *net.UnixConn) {
	defer client.Close()
	at := <-h.atPush
	at.seen++
	h.atPush <- at
	if at.number == at.seen && !at.late {
		if at.kill {
			h.kill(at.cmd)
			return
		}
		at.do()
	}
	conn, err := net.Dial("unix", h.door)
	if err != nil {
		return
	}
	defer conn.Close()
	lost := at.number == at.seen && at.late
	h.forward(client, conn.(*net.UnixConn), lost)
	if lost {
		h.kill(at.cmd)
	}
}

// forward joins a client with the door until the door hangs up. An answer that is to
// be lost is what comes after the client's first byte: before it come the refs.
func (h *host) forward(client, server *net.UnixConn, lost bool) {
	answering := make(chan struct{})
	go func() {
		first := make([]byte, 1)
		if n, _ := client.Read(first); n == 1 {
			close(answering)
			server.Write(first)
			io.Copy(server, client)
		}
		server.CloseWrite()
	}()
	if !lost {
		io.Copy(client, server)
		return
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := server.Read(buf)
		select {
		case <-answering:
		default:
			client.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// kill ends the agent with all that it started, as a crash of its machine does.
func (h *host) kill(cmd *exec.Cmd) {
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	process.EndTagged("WARD_AGENT_STATE="+h.state, 0)
}

// run runs the agent until no directive is open, or something ends it, and reports how
// many pushes it made.
func (h *host) run(at atPush) (pushes int, err error) {
	start := time.Now()
	defer func() { h.agentRun += time.Since(start) }()
	ctx, cancel := context.WithDeadline(context.Background(), await.Deadline(h.T)) // one that takes longer is stuck
	defer cancel()
	bin, err := gittest.Bin()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "ward-agent"), "--bare", h.Bare, "--state", h.state, "--config", h.config, "--door", h.socket, "--model", "script", "--once")
	dir := filepath.Dir(h.state)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { h.kill(cmd); return nil }
	var said bytes.Buffer
	cmd.Stderr = io.MultiWriter(&said, &h.log)
	at.cmd = cmd
	h.atPush <- at
	defer func() { at := <-h.atPush; pushes = at.seen }()
	if at.in != "" {
		defer h.within(ctx, at)()
	}
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("the agent does not come to an end:\n%s", tail(said.String(), 15))
	case err != nil && at.kill && !cmd.ProcessState.Exited():
		return 0, errKilled
	case err != nil && strings.Contains(said.String(), "not gone on with in this pass"): // the next pass does, or what it comes to is judged
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("the agent stops: %w\n%s", err, tail(said.String(), 15))
	}
	return 0, nil
}

// within does what is to happen where the worker waits for it; stop ends the looking.
func (h *host) within(ctx context.Context, at atPush) (stop func()) {
	dir := filepath.Dir(h.state)
	asked, there := filepath.Join(dir, "halt-"+at.in), filepath.Join(dir, "halted")
	os.WriteFile(asked, nil, 0o644)
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) { // a file of another process tells nobody
			if _, err := os.Stat(there); err != nil {
				continue
			}
			at.do()
			if at.kill {
				h.kill(at.cmd)
			}
			time.Sleep(600 * time.Millisecond) // the agent looks after its unit each quarter of a second; that it does nothing more then nobody tells
			os.Remove(there)
			return
		}
	})
	return func() { cancel(); looking.Wait(); os.Remove(asked); os.Remove(there) }
}

var errKilled = errors.New("killed, as planned")

// tail is the end of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
