// Package gateway is the host's side of the fence's only way to the network: a unix socket
// that serves the models' APIs with the host's key (SBX-7) and, in allow-list mode, a forward
// proxy for named hosts (SBX-2).
//
// Every client of the socket is untrusted. What it may call is decided by
// tables (routes, fields, tools, names), what it has used is counted from what
// the provider answers, and which directive pays is asked of the host, never of
// the client. The key is added after everything of the client's has been
// stripped, and taken out of everything that comes back.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/runstate"
	"git-ward/internal/scratch"

	"github.com/rs/zerolog"
	"golang.org/x/sync/semaphore"
)

// maxPath is what fits in sun_path with its final zero (unix(7)).
const maxPath = 107

// Config is the complete configuration of a gateway.
type Config struct {
	Dir string // a short directory to make the socket's in; empty: os.TempDir
	// Meter counts for all of a launch's gateways; its opener closes it after they have ended.
	Meter *Meter
	// Shared is common to a launch's gateways.
	Shared *Shared

	Payer Payer
	// Leased says that this gateway's worker needs a lease: its Payer's Directive is "" when
	// it is gone (MANY-1).
	Leased bool
	// Budget is each directive's total, by the settings (LOOP-4). Zero pays for nothing.
	Budget Budget
	// Until is when the launch's time is spent: no later call is paid for. Zero: never.
	Until time.Time

	// Models are the only callable models: exact names, or prefixes that end in *. Empty
	// allows none.
	Models []string

	Anthropic Provider
	OpenAI    Provider
	Prices    Prices
	PricesOf  string // day of the price table, for reports; "" for unknown

	// Allowlist opens the forward proxy for the names in Allow: exact names, or *.suffix for
	// all names below suffix. Without it ([egress] mode = "public") the proxy refuses, because
	// the fence has a route of its own and a second way out would have to be watched as well.
	Allowlist bool
	Allow     []string
	// Refuses returns a test for addresses that the proxy may not dial now: the firewall's own
	// rule (firewall.Policy.Refuses). Nil: special addresses and the host's networks.
	Refuses  func(context.Context) (func(netip.Addr) bool, error)
	Resolver Resolver // nil: the host's own, with questions counted

	Limits Limits
	Log    zerolog.Logger // one line per model call, proxied connection or refusal
}

// Payer is the host's word on who pays for the calls of a gateway. Many calls ask it at once,
// and each waits for its answer.
type Payer interface {
	// Directive names who pays for a call that starts now; "" refuses it.
	Directive() string
	// Own is what a directive's own text allows, Unlimited without a limit; the smaller number
	// holds. An error means that it cannot be read.
	Own(directive string) (Budget, error)
	// Held is why a directive's unit may not be worked on now, such as "paused", or "".
	Held(directive string) string
	// Troubles gets the provider's failures by directive when they change. It may not keep
	// the map.
	Troubles(map[string]runstate.Trouble)
}

// Provider is where one protocol's calls go, and with which key.
type Provider struct {
	BaseURL string // without /v1; https, or http on loopback; empty: the provider's own
	Key     Key    // empty: calls are refused, unless BaseURL is on loopback
}

// Gateway is an open gateway, ready for Serve.
type Gateway struct {
	config   Config
	limits   Limits
	outer    *scratch.Dir
	listener net.Listener
	models   map[config.Provider]*provider // by the path's first element
	proxy    *proxy
	slots    chan struct{}       // of model calls
	own      *semaphore.Weighted // bytes of requests and answers that are in memory
	bodies   *semaphore.Weighted // the part of them that all gateways share
	payments payments
}

// Listen opens a gateway's socket. Clients wait until Serve is called.
//
// The socket is `<outer>/gateway/sock`, with the modes of the door's: the outer
// directory 0700, the inner one, which is to be mounted, 0755, the socket 0666.
func Listen(c Config) (*Gateway, error) {
	g := &Gateway{config: c, limits: c.Limits.withDefaults()}
	g.slots = make(chan struct{}, g.limits.AtOnce)
	g.own = semaphore.NewWeighted(g.limits.Own)
	g.bodies = semaphore.NewWeighted(g.limits.Bodies)
	g.payments.payer = c.Payer
	if c.Payer == nil || c.Meter == nil || c.Shared == nil {
		return nil, errors.New("a gateway needs to know who pays, where that is counted, and what it shares")
	}
	if len(c.Prices.known) == 0 {
		return nil, errors.New("a gateway needs a price table: without one every call would cost nothing")
	}
	var err error
	if g.models, err = g.providers(); err != nil {
		return nil, err
	}
	if g.proxy, err = newProxy(&g.config, g.limits); err != nil {
		return nil, err
	}
	return g, g.listen()
}

func (g *Gateway) listen() (err error) {
	if g.outer, err = scratch.Make(g.config.Dir, ""); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.outer.Remove())
		}
	}()
	dir := filepath.Join(g.outer.Path, "gateway")
	path := filepath.Join(dir, "sock")
	if len(path) > maxPath {
		return diag.Hint(fmt.Errorf("%s is too long for a unix socket: %d bytes, at most %d", path, len(path), maxPath),
			"set XDG_RUNTIME_DIR or TMPDIR to a directory with a short name")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	// The umask may have taken bits from both.
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(path, 0o666)); err != nil {
		return errors.Join(err, listener.Close())
	}
	g.listener, g.proxy.socket = newLimitListener(listener, g.limits.Conns), path
	return nil
}

// Socket is the path of the socket; its directory is the one to mount.
func (g *Gateway) Socket() string { return g.listener.Addr().String() }

// Serve answers until ctx is cancelled, which is its ordinary end and no error.
// Calls that run then are cancelled, charged for what they have used, and
// written down before Serve returns. It also removes the socket.
func (g *Gateway) Serve(ctx context.Context) error {
	defer g.outer.Remove()
	g.proxy.serving = ctx
	server := &http.Server{
		Handler:           http.HandlerFunc(g.route),
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          quietLog(),
		// Otherwise net/http itself answers `OPTIONS *`.
		DisableGeneralOptionsHandler: true,
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		if server.Shutdown(late) != nil {
			server.Close()
		}
	})
	err := server.Serve(g.listener)
	if stop() {
		server.Close()
	} else {
		<-done
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("the gateway does not open any more: %w", err)
	}
	return err
}

// route tells the two functions apart by the form of the request target (RFC 9112, section
// 3.2): a proxy gets the authority or absolute form.
func (g *Gateway) route(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		g.proxy.connect(w, r)
	case r.URL.IsAbs():
		g.proxy.forward(w, r)
	case r.URL.Path == costPath:
		g.serveCost(w, r)
	case r.URL.Path == accountPath:
		g.serveAccount(w, r)
	default:
		name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
		if p := g.models[config.Provider(name)]; p != nil {
			g.serveModel(w, r, p, "/"+path)
			return
		}
		g.config.Log.Warn().Str("method", r.Method).Str("path", shown(r.URL)).Msg("refused: no such path")
		http.Error(w, "ward: this gateway serves /anthropic/v1/..., /openai/v1/..., "+costPath+" and "+accountPath, http.StatusForbidden)
	}
}
