package launch

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"git-ward/hooks/secret"
	"git-ward/internal/config"
)

// TestShareOfAPlace: an agent that is started again and again has one share of the log.
func TestShareOfAPlace(t *testing.T) {
	var log bytes.Buffer
	l := &launch{spec: Spec{Settings: config.Default()}, stdout: &log, stderr: &log}
	for range 3 {
		w := &worker{launch: l, number: 1, payload: Payload{Logged: true}}
		end := w.screen(context.Background())
		for range 100 {
			w.payload.Stderr.Write([]byte(strings.Repeat("x", 64<<10) + "\n"))
		}
		end()
	}
	if log.Len() < agentBurst/2 || log.Len() > agentBurst+agentBurst/8 || !strings.Contains(log.String(), " lines left out)") {
		t.Errorf("%d bytes of 3 floods, and a share has %d", log.Len(), agentBurst)
	}
}

// TestOutputWithoutSecrets: what an agent prints loses the secrets that the gate knows, in the log
// and on a terminal, cut as it may come.
func TestOutputWithoutSecrets(t *testing.T) {
	token := strings.Join([]string{"ghp", "_", "R4nd0mT0k3nF0rT3stsOnlyAbCdEfGhIj123"}, "")
	for _, logged := range []bool{false, true} {
		var log bytes.Buffer
		l := &launch{spec: Spec{Settings: config.Default(), Redact: secret.Redactor}, stdout: &log, stderr: &log}
		w := &worker{launch: l, number: 1, only: "D-1", payload: Payload{Logged: logged}}
		end := w.screen(context.Background())
		w.payload.Stderr.Write([]byte("pushes with " + token[:9]))
		w.payload.Stderr.Write([]byte(token[9:] + "\nand goes on"))
		end()
		if got := log.String(); strings.Contains(got, token) || !strings.Contains(got, "pushes with [") || !strings.Contains(got, "and goes on\n") {
			t.Errorf("logged %v: %q", logged, got)
		}
	}
}
