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

// TestKeysOverLines: of a private key that an agent prints no line is left, marked as it may be.
func TestKeysOverLines(t *testing.T) {
	begin, end := "-----BEGIN OPENSSH PRIVATE "+"KEY-----\n", "-----END OPENSSH PRIVATE "+"KEY-----\n"
	body := strings.Repeat(strings.Repeat("Zm9v", 16)+"\n", 5) + "Zm9vZg==\n"
	for _, agents := range []int{1, 2} {
		var log bytes.Buffer
		settings := config.Default()
		settings.Launch.Agents = agents
		l := &launch{spec: Spec{Settings: settings, Redact: secret.Redactor}, stdout: &log, stderr: &log}
		w := &worker{launch: l, number: 1, only: "D-1", payload: Payload{Logged: true}}
		end1 := w.screen(context.Background())
		w.payload.Stderr.Write([]byte("it has\n" + begin + body + end + "and goes on\n" + begin + body))
		end1()
		end2 := w.screen(context.Background())
		w.payload.Stderr.Write([]byte("the next\n"))
		end2()
		if got := log.String(); strings.Contains(got, "Zm9v") || strings.Count(got, "[private-key]") != 2 || !strings.Contains(got, "and goes on\n") || !strings.HasSuffix(got, "the next\n") {
			t.Errorf("%d agents: %q", agents, got)
		}
	}
}
