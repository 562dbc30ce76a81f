package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"git-ward/hooks/secret"
	"git-ward/internal/config"
	"git-ward/internal/diag"
)

// TestLogsWithoutSecrets: what a failed pod said last, or another machine of its end, has no secret
// in any log of the launch, nor on its way to people; each line of JSON stays one.
func TestLogsWithoutSecrets(t *testing.T) {
	token := strings.Join([]string{"ghp", "_", "R4nd0mT0k3nF0rT3stsOnlyAbCdEfGhIj123"}, "")
	var file, messages bytes.Buffer
	l := &launch{spec: Spec{Settings: config.Default(), Redact: secret.Redactor}}
	l.openLog(&file, &messages)
	err := fmt.Errorf("the Job failed: agent: exit 1 \"with\\ %s\u202e\", and more", token)
	kube := l.logOf("kube")
	l.log.Error().Err(err).Str("why", "as it says").Msg("a worker ended")
	kube.Error().Str("job", "ward-x-d-1-1").Str("why", err.Error()).Msg("the Job does not go on")
	fmt.Fprintln(l.words(), "a verdict waits:", err)
	fmt.Fprintln(l.spec.Messages, "warning:", err)
	for where, text := range map[string]string{"file": file.String(), "messages": messages.String()} {
		if strings.Contains(text, token) || strings.Contains(text, token[8:]) || strings.Contains(text, "\u202e") && where == "file" ||
			!strings.Contains(text, "exit 1") || !strings.Contains(text, "and more") {
			t.Errorf("%s: %s", where, text)
		}
	}
	if n := strings.Count(file.String()+messages.String(), "[github-pat]"); n != 6 {
		t.Errorf("%d of 6 are taken out:\n%s%s", n, file.String(), messages.String())
	}
	for line := range strings.Lines(file.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	ended := l.spec.without(diag.Hint(&hintless{err}, "look"))
	var inner *hintless
	if strings.Contains(ended.Error(), token) || !errors.As(ended, &inner) || len(diag.Hints(ended)) != 1 {
		t.Errorf("the launch ends with %v", ended)
	}
}

type hintless struct{ error }
