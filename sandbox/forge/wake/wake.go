// Package wake hears a forge's webhooks, by which `git ward forge` looks before its time comes
// (FORGE-2, FORGE-5). What one says is never read: the look asks the forge itself, so a webhook
// that is forged, repeated or late could do no more than have it look.
package wake

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"git-ward/internal/diag"
	"git-ward/sandbox/gateway"
)

const (
	// maxBody bounds a webhook, in bytes. GitHub sends 25 MB at most, for pushes that nobody
	// reads here: those wait for the next look.
	maxBody = 2 << 20
	// maxConns is how many are read at once; others wait in the listener.
	maxConns = 8
	// maxHeld is of how many it is remembered that they came.
	maxHeld = 1024
	// patience is how long one may take to send.
	patience = 10 * time.Second
	// Rest is how long it lasts from one look to the next that a webhook brings about: who may
	// write comments on the forge can send as many as he likes, each rightly signed.
	Rest = 10 * time.Second
)

// Bell is one place that a forge calls. Its queue has room for one: several that come before
// the look have the same look.
type Bell struct {
	secret gateway.Key

	mu    sync.Mutex
	rung  bool
	known map[[sha256.Size]byte]bool
	order [][sha256.Size]byte // of known, oldest first
}

// New makes a bell that whoever knows the secret may ring.
func New(secret gateway.Key) *Bell {
	return &Bell{secret: secret, known: map[[sha256.Size]byte]bool{}}
}

// Rung reports whether it rang since Rung was asked last.
func (b *Bell) Rung() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.rung
	b.rung = false
	return was
}

// ServeHTTP takes one webhook. Who does not know the secret learns no more than that.
func (b *Bell) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case large:
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case !b.signed(r.Header, body):
		w.WriteHeader(http.StatusUnauthorized)
	default:
		b.ring(sha256.Sum256(body))
		w.WriteHeader(http.StatusNoContent)
	}
}

// signed reports whether a webhook is of one who knows the secret. GitHub, Gitea and Forgejo
// sign its body; GitLab sends the secret itself.
func (b *Bell) signed(h http.Header, body []byte) bool {
	if token := h.Get("X-Gitlab-Token"); token != "" {
		got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(b.secret.Reveal()))
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
	text, found := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
	got, err := hex.DecodeString(text)
	if !found || err != nil {
		return false
	}
	mac := hmac.New(sha256.New, []byte(b.secret.Reveal()))
	mac.Write(body)
	return hmac.Equal(got, mac.Sum(nil))
}

// ring notes one, unless the same came before: its name in the header nobody signed, so that it
// is known by its body.
func (b *Bell) ring(sum [sha256.Size]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[sum] {
		return
	}
	if len(b.order) == maxHeld {
		delete(b.known, b.order[0])
		b.order = b.order[1:]
	}
	b.known[sum], b.order, b.rung = true, append(b.order, sum), true
}

// Listen opens the address of [forge] webhook, which is this machine's own: what reaches it from
// elsewhere comes through a proxy with TLS.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err == nil && !gateway.IsLoopback(host) {
		err = diag.Hint(errors.New("it is not on this machine's loopback, and what comes would not be encrypted"), "listen at 127.0.0.1:PORT, and have a proxy with TLS send there")
	}
	var l net.Listener
	if err == nil {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("[forge] webhook = %q: %w", address, err)
	}
	return netutil.LimitListener(l, maxConns), nil
}

// Serve answers on a listener until ctx ends.
func (b *Bell) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: b, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, MaxHeaderBytes: 16 << 10}
	server.SetKeepAlivesEnabled(false)
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
