package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogWithoutSecrets: what a worker says is logged, and no secret in it, on either way.
func TestLogWithoutSecrets(t *testing.T) {
	token := "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	var screen strings.Builder
	dir := t.TempDir()
	log, end, err := openLog(dir, &screen, oneAtATime(strings.NewReplacer(token, "[github-pat]").Replace))
	if err != nil {
		t.Fatal(err)
	}
	log.Warn().Str("arguments", `curl -H "token: `+token+`"`).Msg("Is " + token + " right?")
	log.Info().Msg("on it goes")
	end()
	file, err := os.ReadFile(filepath.Join(dir, "logs", "agent.log"))
	if err != nil {
		t.Fatal(err)
	}
	for way, text := range map[string]string{"file": string(file), "screen": screen.String()} {
		if strings.Contains(text, token) || strings.Count(text, "[github-pat]") != 2 || !strings.Contains(text, "curl") || !strings.Contains(text, "on it goes") {
			t.Errorf("%s: %s", way, text)
		}
	}
}
