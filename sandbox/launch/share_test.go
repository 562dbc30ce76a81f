package launch

import (
	"bytes"
	"context"
	"strings"
	"testing"

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
