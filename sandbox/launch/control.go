package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/protocols/lease"
	"git-ward/sandbox/host"
)

// controlPath is a running launch's control socket, in its private directory.
const controlPath = "control/sock"

// stopPatience is how long to wait for a worker's payload to end.
const stopPatience = 30 * time.Second

// openControl serves requests to the launch: POST /stop/D-3.
func (l *launch) openControl() (s service, err error) {
	path := filepath.Join(l.scratch.Path, controlPath)
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		return s, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return s, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stop/{directive}", l.serveStop)
	mux.HandleFunc("POST /work/{holder}", l.serveWork)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	return service{"the launch's own socket", func(ctx context.Context) error {
		server.BaseContext = func(net.Listener) context.Context { return ctx }
		defer l.asking.Wait()
		defer context.AfterFunc(ctx, func() { server.Close() })()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}}, nil
}

// serveStop terminates a directive's worker, and keeps this launch from working on the
// directive until the PM changes its text.
func (l *launch) serveStop(w http.ResponseWriter, r *http.Request) {
	directive := r.PathValue("directive")
	if !lease.IsDirective(directive) {
		http.Error(w, "it is no directive", http.StatusBadRequest)
		return
	}
	if l.host == nil {
		http.Error(w, host.ErrNobody.Error(), http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), stopPatience)
	defer cancel()
	holder, err := l.host.Stop(ctx, directive)
	switch {
	case errors.Is(err, host.ErrNobody):
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, diag.Clean(err.Error()), http.StatusInternalServerError)
		return
	}
	l.log.Info().Str("worker", holder).Str("directive", directive).Msg("somebody stopped it")
	fmt.Fprintln(w, holder)
}

// StopDirective asks the launcher on a repository to end its worker on a directive, and
// returns that worker's name when its payload has ended.
func StopDirective(ctx context.Context, bare, directive string) (holder string, err error) {
	l, running := runstate.Now(bare)
	if running && l.PID == 0 {
		return "", End(bare, 0)
	}
	if !running || l.Scratch == "" {
		return "", diag.Hint(fmt.Errorf("%s: nothing runs", directive), "git ward status --bare %s says what waits", diag.Word(bare))
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(l.Scratch, controlPath))
	}}}
	ctx, cancel := context.WithTimeout(ctx, stopPatience+10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://launch/stop/"+directive, nil)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", diag.Hint(fmt.Errorf("the launcher, process %d, does not answer: %w", l.PID, err), "git ward launch --stop --bare %s ends it", diag.Word(bare))
	}
	defer answer.Body.Close()
	var said string
	fmt.Fscanln(answer.Body, &said) // one word on success
	switch answer.StatusCode {
	case http.StatusOK:
		return said, nil
	case http.StatusNotFound:
		return "", diag.Hint(fmt.Errorf("%s: %w", directive, host.ErrNobody), "git ward status --bare %s says who works on what", diag.Word(bare))
	}
	return "", diag.Hint(fmt.Errorf("%s cannot be stopped (%d)", directive, answer.StatusCode), "git ward launch --logs --bare %s says why", diag.Word(bare))
}
