package wake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"git-ward/sandbox/gateway"
)

func bell(t *testing.T) *Bell {
	t.Helper()
	key, err := gateway.NewKey("the-secret-of-both")
	if err != nil {
		t.Fatal(err)
	}
	return New(key)
}

func sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func post(b *Bell, body []byte, header ...string) int {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w.Code
}

// TestWho: only who knows the secret rings, by the signature over these very bytes or, as GitLab
// does, by the secret; the same webhook rings once (FORGE-5).
func TestWho(t *testing.T) {
	body := []byte(`{"action":"created"}`)
	right := sign("the-secret-of-both", body)
	large := bytes.Repeat([]byte("x"), maxBody+1)
	for _, c := range []struct {
		name   string
		body   []byte
		header []string
		code   int
		rung   bool
	}{
		{"unsigned", body, nil, 401, false},
		{"signed with another secret", body, []string{"X-Hub-Signature-256", sign("another", body)}, 401, false},
		{"another body's signature", []byte(`{"action":"deleted"}`), []string{"X-Hub-Signature-256", right}, 401, false},
		{"a signature of nothing", body, []string{"X-Hub-Signature-256", "sha256="}, 401, false},
		{"the old signature alone", body, []string{"X-Hub-Signature", "sha1=" + strings.Repeat("0", 40)}, 401, false},
		{"GitLab's, wrong", body, []string{"X-Gitlab-Token", "the-secret-of-bot"}, 401, false},
		{"GitLab's, wrong, beside a right signature", body, []string{"X-Gitlab-Token", "x", "X-Hub-Signature-256", right}, 401, false},
		{"too large", large, []string{"X-Hub-Signature-256", sign("the-secret-of-both", large)}, 413, false},
		{"right", body, []string{"X-Hub-Signature-256", right}, 204, true},
		{"again, by another name", body, []string{"X-Hub-Signature-256", right, "X-Github-Delivery", "2"}, 204, false},
		{"again, as GitLab's", body, []string{"X-Gitlab-Token", "the-secret-of-both"}, 204, false},
		{"GitLab's", []byte(`{"object_kind":"note"}`), []string{"X-Gitlab-Token", "the-secret-of-both"}, 204, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bell(t)
			if strings.HasPrefix(c.name, "again") {
				post(b, body, "X-Hub-Signature-256", right)
				b.Rung()
			}
			if code := post(b, c.body, c.header...); code != c.code || b.Rung() != c.rung || b.Rung() {
				t.Errorf("%d", code)
			}
		})
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	if bell(t).ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
		t.Error(w.Code)
	}
}

// TestFlood: any number of webhooks, each rightly signed, is one look, and takes no memory
// without bound.
func TestFlood(t *testing.T) {
	b := bell(t)
	for n := range 3 * maxHeld {
		body := fmt.Append(nil, n)
		if code := post(b, body, "X-Hub-Signature-256", sign("the-secret-of-both", body)); code != http.StatusNoContent {
			t.Fatal(code)
		}
	}
	if !b.Rung() || b.Rung() || len(b.known) != maxHeld || len(b.order) != maxHeld {
		t.Errorf("%d known, %d in order", len(b.known), len(b.order))
	}
	if last := []byte(fmt.Sprint(3*maxHeld - 1)); post(b, last, "X-Gitlab-Token", "the-secret-of-both") != http.StatusNoContent || b.Rung() {
		t.Error("the last one rang again")
	}
}

// TestListen: it is heard on this machine alone, and ends when it is told.
func TestListen(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":8080", "192.0.2.1:80", "nonsense"} {
		if l, err := Listen(t.Context(), address); err == nil || !strings.Contains(err.Error(), "[forge] webhook") {
			t.Errorf("%s: %v %v", address, l, err)
		}
	}
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := bell(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- b.Serve(ctx, l) }()
	answer, err := http.Post("http://"+l.Addr().String(), "application/json", strings.NewReader("{}"))
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Error(answer, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
