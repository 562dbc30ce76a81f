package fence

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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/runstate"
	"git-ward/internal/token"
	"git-ward/protocols/lease"
	"git-ward/protocols/uow"
	"git-ward/sandbox/door"
	"git-ward/sandbox/door/keys"
)

const (
	// handBeat is how often a machine that works says so, and handAway how long it may say
	// nothing: then its lease is given to another, and what it still pushes is refused.
	handBeat = 10 * time.Second
	handAway = 45 * time.Second
	// maxHands is how many workers other machines may have, and firstHand the number of the first.
	maxHands, firstHand = 200, 1001
	// maxSaid bounds a line of what a machine says, in bytes.
	maxSaid = 256 << 10
)

// order is one directive to work on, as the gate sends it to another machine: one line.
type order struct {
	Directive string    `json:"directive"`
	Key       string    `json:"key"` // the private key of the lease
	Model     string    `json:"model"`
	Until     time.Time `json:"until"`
	Settings  string    `json:"settings"` // what the machine is shown of config.toml
}

// said is what the machine answers, a line each.
type said struct {
	Up    bool   `json:"up,omitempty"`    // the payload runs
	Out   string `json:"out,omitempty"`   // what the watcher printed
	Ended bool   `json:"ended,omitempty"` // it has ended, in good order where Why is empty
	Why   string `json:"why,omitempty"`
}

// hand is the engine of a worker on another machine, which has asked for it and stays
// connected while it works.
type hand struct {
	*launch
	conn net.Conn
	said chan said // closed when the machine is gone
	took bool      // it was given something
}

// serveWork gives a machine that asks the next free directive, and has it worked on there
// while it stays: POST /work/NAME.K, whose connection is the machine's from then on.
func (l *launch) serveWork(w http.ResponseWriter, r *http.Request) {
	holder := l.name + "." + r.PathValue("holder")
	if l.book == nil || token.CheckName(holder) != nil {
		http.Error(w, "no worker of another machine has such a name", http.StatusBadRequest)
		return
	}
	number, err := l.control.hands.enter(holder, l.spec.Settings.Launch.HandAgents)
	if err != nil {
		status := http.StatusTooManyRequests
		if errors.Is(err, errAtWork) {
			status = http.StatusConflict
		}
		http.Error(w, err.Error(), status)
		return
	}
	defer l.control.hands.leave(holder)
	l.control.working.Add(1)
	defer l.control.working.Done()
	ctx := r.Context()
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n\r\n")
	h := &hand{launch: l, conn: conn, said: make(chan said)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go h.read(ctx, buffered.Reader)
	if err := h.serve(ctx, holder, number, r.URL.Query().Has("once")); err != nil {
		l.log.Error().Err(err).Str("worker", holder).Msg("a worker on another machine ended badly")
	}
}

// serve waits for a free directive and runs it to its end on the machine.
func (h *hand) serve(ctx context.Context, holder string, number int, once bool) error {
	var asked time.Time
	refs := git.Open(h.spec.Bare).Watch(uow.RefPrefix, h.spec.Settings.Control.Ref(), lease.Prefix)
	for {
		if refs.Moved() || time.Since(asked) > anewAfter {
			asked = time.Now()
			free, err := h.book.Free(ctx)
			if err != nil {
				return err
			}
			free = slices.DeleteFunc(free, h.stopped)
			switch {
			case len(free) == 0:
			case h.control.hands.begin(holder):
				err = h.worker(holder, number, free[0]).run(ctx)
				if !h.took {
					h.control.hands.wait(holder)
				}
			default: // another machine's turn
				asked = time.Time{}
			}
			if h.took || err != nil || once && len(free) == 0 {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case _, there := <-h.said:
			if !there {
				return nil
			}
		case <-time.After(poolInterval): // a ref tells nobody that it moves
		}
	}
}

// worker is one of this launch's whose payload runs on the machine.
func (h *hand) worker(holder string, number int, directive string) *worker {
	w := &worker{launch: h.launch, number: number, holder: holder, only: directive, engine: h, payload: h.spec.Payload}
	w.said = runstate.Worker{Holder: holder, Where: h.Where(Work{Holder: holder}), PID: os.Getpid()}
	w.lease = h.book.Worker(holder, w.said.Where)
	return w
}

// Where names the machine.
func (h *hand) Where(w Work) string {
	name := strings.TrimPrefix(w.Holder, h.name+".")
	return "ssh " + name[:max(strings.LastIndexByte(name, '.'), 0)]
}

// Adopt has nothing to adopt: a machine that lost its launcher asks anew.
func (h *hand) Adopt(context.Context, []lease.Lease) error { return nil }

// keys are those that the repository lets in for leases.
func (l *launch) keys() keys.File {
	return keys.File{Bare: l.spec.Bare, Program: l.spec.Programs.Ward}
}

// Run sends the machine its order, with a key for the lease, and hears it to the end.
func (h *hand) Run(ctx context.Context, w Work) error {
	h.took = true
	name := w.Lease.Name()
	private, public, err := keys.New(name)
	if err != nil {
		return err
	}
	file := h.keys()
	until := w.Until.Add(h.spec.Settings.Budget.Grace.Duration + killGrace)
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

func (h *hand) order(w Work, key []byte) (o order, err error) {
	settings, err := config.Load(h.spec.Bare)
	if err != nil {
		return o, err
	}
	return order{w.Directive, string(key), w.Model, w.Until, string(settings.Copy(config.ByHand))}, nil
}

// hear follows what the machine says.
func (h *hand) hear(ctx context.Context, w Work) error {
	defer h.conn.Close() // which ends what it still does
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(handAway):
			return diag.Hint(fmt.Errorf("%s has said nothing for %v", h.Where(w), handAway), "its lease is free for others; it asks anew when the network is back")
		case s, there := <-h.said:
			switch {
			case !there:
				return fmt.Errorf("%s has gone", h.Where(w))
			case s.Ended && s.Why != "":
				return errors.New(diag.Clean(diag.Cut(s.Why, 1000)))
			case s.Ended:
				return nil
			case s.Up:
				w.Up()
			case s.Out != "":
				io.WriteString(w.Stdout, s.Out)
			}
		}
	}
}

// read hands on what the machine says, until it is gone.
func (h *hand) read(ctx context.Context, from *bufio.Reader) {
	defer close(h.said)
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxSaid)
	for lines.Scan() {
		var s said
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			return
		}
		select {
		case h.said <- s:
		case <-ctx.Done():
			return
		}
	}
}

// asked is a connection to a launcher after the head of its answer.
type asked struct {
	*net.UnixConn
	rest *bufio.Reader
}

func (a *asked) Read(p []byte) (int, error) { return a.rest.Read(p) }

// AskWork asks the launcher on a repository for work for a worker of another machine; with
// once, only for what is free now. The connection is an order and the answers to it.
func AskWork(ctx context.Context, bare, holder string, once bool) (door.Conn, error) {
	now, running := runstate.Now(bare)
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
		err = cmp.Or(ctx.Err(), errors.New("the launcher at the gate broke off"))
	case answer.StatusCode == http.StatusConflict:
		err = diag.Hint(fmt.Errorf("%s is at work already", holder), "one launch --gate a machine and key; another machine gets a key of its own, with a --hand of its own")
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
