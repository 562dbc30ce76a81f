package launch

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/internal/token"
	"git-ward/sandbox/door"
	"git-ward/sandbox/door/keys"
	"git-ward/sandbox/fence"
	"git-ward/sandbox/host"
)

const (
	// handBeat is the heartbeat interval of a working machine, and handAway how long it may be
	// silent: after that its lease goes to another, and its late pushes are refused.
	handBeat = 10 * time.Second
	handAway = 45 * time.Second
	// maxSaid bounds a line from a machine, in bytes.
	maxSaid = 256 << 10
)

// order is one directive to work on, one line from the gate to another machine.
type order struct {
	Directive string    `json:"directive"`
	Key       string    `json:"key"` // the private key of the lease
	Model     string    `json:"model"`
	Until     time.Time `json:"until"`
	Settings  string    `json:"settings"` // the part of config.toml that the machine may see
}

// said is one line of the machine's answer.
type said struct {
	Up    bool   `json:"up,omitempty"`    // the payload runs
	Out   string `json:"out,omitempty"`   // the watcher's stdout
	Err   string `json:"err,omitempty"`   // the watcher's and the agent's stderr
	Ended bool   `json:"ended,omitempty"` // the work has ended, successfully if Why is empty
	Why   string `json:"why,omitempty"`
	Apart bool   `json:"apart,omitempty"` // Why is nothing that the work may have caused
}

// remoteWorker is a machine that has asked for one worker's work and stays connected while it works.
type remoteWorker struct {
	launch *launch
	there
	name  string // for people
	conn  net.Conn
	said  chan said
	alive chan struct{} // the machine has reported it
	gone  chan struct{} // closed when it disconnects
}

// serveWork offers a machine's place for a worker, and has a directive worked on there while
// it stays connected: POST /work/NAME.K, whose connection is the machine's from then on.
func (l *launch) serveWork(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("holder")
	if l.host == nil || token.CheckName(l.name+"."+name) != nil {
		http.Error(w, "no worker of another machine has such a name", http.StatusBadRequest)
		return
	}
	h := &remoteWorker{launch: l, said: make(chan said), alive: make(chan struct{}, 1), gone: make(chan struct{})}
	wait, err := l.host.Offer(host.Offer{Name: name, Once: r.URL.Query().Has("once"), Run: func(ctx context.Context, j *host.Job) error {
		h.name = j.Where
		return l.newWorker(j, h).run(ctx)
	}}, l.spec.Settings.Launch.HandAgents)
	if err != nil {
		status := http.StatusTooManyRequests
		if errors.Is(err, host.ErrAtWork) {
			status = http.StatusConflict
		}
		http.Error(w, err.Error(), status)
		return
	}
	l.asking.Add(1)
	defer l.asking.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if conn, buffered, err := http.NewResponseController(w).Hijack(); err == nil {
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
		h.conn = conn
		go func() {
			defer cancel()
			h.read(ctx, buffered.Reader)
		}()
	} else {
		cancel()
	}
	wait(ctx)
}

// keys are the repository's keys for leases.
func (l *launch) keys() keys.File {
	return keys.File{Bare: l.spec.Bare, Program: l.spec.Programs.Ward}
}

func (h *remoteWorker) where(string) string { return h.name }
func (*remoteWorker) steady() bool          { return true }

// run sends the machine its order with a key for the lease, and reads its answers to the end.
func (h *remoteWorker) run(ctx context.Context, w *worker) error {
	name := w.job.Hold.Lease().Name()
	private, public, err := keys.New(name)
	if err != nil {
		return err
	}
	file := h.launch.keys()
	until := h.launch.until.Add(h.launch.spec.Settings.Budget.Grace.Duration + fence.KillGrace)
	if err := file.Add(keys.Key{Name: name, Public: public, Door: []string{"--lease", name}, Until: until}, time.Now()); err != nil {
		return err
	}
	defer file.Remove(name)
	o, err := h.order(w, private)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(h.conn).Encode(o); err != nil {
		return err
	}
	return h.hear(ctx, w)
}

func (h *remoteWorker) order(w *worker, key []byte) (o order, err error) {
	settings, err := config.Load(h.launch.spec.Bare)
	if err != nil {
		return o, err
	}
	return order{w.only, string(key), w.payload.Model, h.launch.until, string(settings.Copy(config.ByHand))}, nil
}

// hear reads the machine's answers. Its error is a *host.Ended unless the machine says that the work
// itself ended so.
func (h *remoteWorker) hear(ctx context.Context, w *worker) error {
	defer h.conn.Close() // which ends its work
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(handAway):
			return &host.Ended{Why: diag.Hint(fmt.Errorf("%s has said nothing for %v", h.name, handAway), "its lease is free for others; it asks again when the network is back")}
		case <-h.alive:
		case <-h.gone:
			return &host.Ended{Why: fmt.Errorf("%s has gone", h.name)}
		case s := <-h.said:
			switch {
			case s.Ended && s.Why != "":
				why := errors.New(diag.Clean(diag.CutWord(s.Why, 1000)))
				if s.Apart {
					return &host.Ended{Why: why}
				}
				return why
			case s.Ended:
				return nil
			case s.Up:
				w.up()
			case s.Out != "":
				io.WriteString(w.payload.Stdout, s.Out)
			case s.Err != "":
				io.WriteString(w.payload.Stderr, s.Err)
			}
		}
	}
}

// read passes on the machine's answers until it disconnects.
func (h *remoteWorker) read(ctx context.Context, from *bufio.Reader) {
	defer close(h.gone)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxSaid)
	for lines.Scan() {
		var s said
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			return
		}
		if s == (said{}) {
			select {
			case h.alive <- struct{}{}:
			default:
			}
			continue
		}
		select {
		case h.said <- s:
		case <-ctx.Done():
			return
		}
	}
}

// asked is a connection to a launcher after its answer's header.
type asked struct {
	*net.UnixConn
	rest *bufio.Reader
}

func (a *asked) Read(p []byte) (int, error) { return a.rest.Read(p) }

// AskWork asks the launcher on a repository for work for a worker of another machine; with
// once, only for what is free now. The connection is an order and the answers to it.
func AskWork(ctx context.Context, bare, holder string, once bool) (door.Conn, error) {
	now, running := runstate.Now(bare)
	if running && now.PID == 0 && now.Scratch == "" { // its file is gone
		return nil, End(bare, 0)
	}
	if !running || now.Scratch == "" {
		return nil, diag.Hint(errors.New("no launcher runs at the gate"), "there: git ward launch --bare DIR")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(now.Scratch, controlPath))
	if err != nil {
		return nil, diag.Hint(errors.New("the launcher at the gate does not answer"), "there: git ward status --bare DIR")
	}
	query := ""
	if once {
		query = "?once"
	}
	fmt.Fprintf(conn, "POST /work/%s%s HTTP/1.1\r\nHost: launch\r\n\r\n", holder, query)
	rest := bufio.NewReader(conn)
	answer, err := http.ReadResponse(rest, nil)
	switch {
	case err != nil:
		err = cmp.Or(ctx.Err(), errors.New("the launcher at the gate closed the connection"))
	case answer.StatusCode == http.StatusConflict:
		err = diag.Hint(fmt.Errorf("%s is at work already", holder), "run one launch --gate for each machine and key; another machine needs its own key with its own --hand")
	case answer.StatusCode == http.StatusTooManyRequests:
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		err = fmt.Errorf("%s gets no work: %s", holder, strings.TrimSpace(string(why)))
	case answer.StatusCode != http.StatusOK:
		err = fmt.Errorf("the launcher at the gate gives %s no work (%d)", holder, answer.StatusCode)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &asked{conn.(*net.UnixConn), rest}, nil
}
