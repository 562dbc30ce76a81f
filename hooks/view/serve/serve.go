// Package serve is the server of `git ward serve` (SEE-2). It shows the pages of a Site to people who signed
// in with a code from the owner's terminal, and notifies their browsers of changes. It is read-only.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"time"
)

// A Site makes the pages that are served: those of the static report, for the repository's present state.
type Site interface {
	// Name is the repository's name, for the sign-in page.
	Name() string
	// Version changes whenever a page may have changed.
	Version(ctx context.Context) (string, error)
	// Page returns a whole page of HTML. path is clean and begins with "/". The error is
	// fs.ErrNotExist if there is no such page.
	Page(ctx context.Context, path string, query url.Values) ([]byte, error)
}

// Config is what one server serves, and where.
type Config struct {
	Listen    string // host:port; beyond loopback only with a certificate
	Cert, Key string // PEM files, both or none
	Style     []byte // the stylesheet of all pages

	// Open opens the repository's Site, at the start and again when it was lost.
	Open func(context.Context) (Site, error)
	// Say is a line for the owner's terminal. It is called by one goroutine at a time.
	Say func(line string)

	patience patience // set by tests; otherwise usual
}

// patience is how long a client may take.
type patience struct{ header, request, answer, idle time.Duration }

var usual = patience{header: 5 * time.Second, request: 10 * time.Second, answer: 30 * time.Second, idle: 20 * time.Second}

// The limits of one server. It speaks only HTTP/1.1, so each stream is a connection of its
// own, and the count of connections limits all that clients can ask at once.
const (
	maxConnections = 4096
	maxOfPeer      = 2048 // one user's of this machine, or one address's
	maxStreams     = 1536 // fewer than maxOfPeer, so that a client with a stream can also request pages
	maxHeader      = 12 << 10
	maxURI         = 2 << 10
	stopping       = 700 * time.Millisecond // ^C ends within a second
)

// Server is one listener with its site.
type Server struct {
	cfg      Config
	secure   bool
	names    names
	listener net.Listener
	pages    *pages
	feed     *feed
	logins   *logins
	say      *teller
	cross    *http.CrossOriginProtection
	// done ends with the server. Streams use it, because http.Server.Shutdown does not end them.
	done context.Context
}

// Listen opens the Site and the address.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.patience == (patience{}) {
		cfg.patience = usual
	}
	l, secure, names, err := listen(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, secure: secure, names: names, say: &teller{say: cfg.Say},
		cross: http.NewCrossOriginProtection()}
	s.pages, err = newPages(ctx, cfg.Open, s.say)
	if err != nil {
		l.Close()
		return nil, err
	}
	s.feed = &feed{version: s.pages.version, moved: make(chan struct{})}
	s.logins = newLogins(time.Now, s.say)
	s.listener = limit(l, maxConnections, maxOfPeer, secure, s.say)
	return s, nil
}

// URL is where a browser on this machine finds the server.
func (s *Server) URL() string { return s.names.url }

// Name is the repository's name.
func (s *Server) Name() string { return s.pages.name }

// Serve answers until ctx ends, which is no error, and returns within a second after that.
func (s *Server) Serve(ctx context.Context) error {
	done, end := context.WithCancel(ctx)
	defer end()
	s.done = done
	defer s.pages.stop()
	go s.feed.run(done)
	srv := s.server(done)
	failed := make(chan error, 1)
	go func() { failed <- s.answer(srv) }()
	s.logins.open()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopping)
	defer cancel()
	if err := srv.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
		srv.Close() // truncates unfinished answers; their clients ask again
	}
	return nil
}

func (s *Server) answer(srv *http.Server) error {
	if !s.secure {
		return srv.Serve(s.listener)
	}
	return srv.ServeTLS(s.listener, s.cfg.Cert, s.cfg.Key)
}

func (s *Server) server(done context.Context) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: s.guarded(), Protocols: &protocols,
		ReadHeaderTimeout: s.cfg.patience.header, ReadTimeout: s.cfg.patience.request, WriteTimeout: s.cfg.patience.answer, IdleTimeout: s.cfg.patience.idle,
		MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true,
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12},
		BaseContext: func(net.Listener) context.Context { return done },
		ConnContext: withPeer,
		// Clients could write any text to its log.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}
