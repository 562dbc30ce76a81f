package gateway

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Over TLS the provider must prove who it is, and HTTP/2 is metered like HTTP/1.
func TestTLSAndHTTP2(t *testing.T) {
	var hits atomic.Int64
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.ProtoMajor != 2 {
			t.Errorf("%s", r.Proto)
		}
		stream(w, messageStart, messageText)
		if hits.Load() == 1 {
			stream(w, messageDelta, messageStop)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	up.EnableHTTP2 = true
	up.Config.ErrorLog = quietLog()
	up.StartTLS()
	defer up.Close()
	f := newFence(t, up.URL)
	if status, answer, _ := f.post("/anthropic/v1/messages", messageBody); status != 502 || hits.Load() != 0 {
		t.Errorf("an unknown authority: %d %s", status, answer)
	}
	f = newFence(t, up.URL)
	f.models["anthropic"].transport.TLSClientConfig = up.Client().Transport.(*http.Transport).TLSClientConfig
	if status, answer, err := f.post("/anthropic/v1/messages", messageBody); status != 200 || err != nil {
		t.Errorf("%d %s %v", status, answer, err)
	}
	if a := f.account(); a.Used.Usage.Output != 150 || a.Estimated != 0 {
		t.Errorf("%+v", a)
	}
	if _, answer, err := f.post("/anthropic/v1/messages", messageBody); err == nil {
		t.Errorf("a cut answer looks whole: %s", answer)
	}
	if a := f.account(); a.Estimated != 1 || a.Used.Usage.Input != 50 {
		t.Errorf("%+v", a)
	}
}

// Nothing in the launcher's environment sends calls, and the key, elsewhere.
func TestEnvironmentsProxyIsNotUsed(t *testing.T) {
	trap := newStandIn(t, okAnswer)
	t.Setenv("HTTP_PROXY", trap.URL)
	t.Setenv("HTTPS_PROXY", trap.URL)
	f := newFence(t, "https://api.anthropic.invalid")
	if status, _, _ := f.post("/anthropic/v1/messages", messageBody); status != 502 {
		t.Errorf("%d", status)
	}
	if hits, _, _, _ := trap.seen(); hits != 0 {
		t.Error("the proxy was asked")
	}
}
