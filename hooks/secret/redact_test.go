package secret

import (
	"strings"
	"testing"
)

func TestRedactor(t *testing.T) {
	redact := Redactor()
	token := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	for range 2 {
		got := redact("push with " + token + " and " + token + ", then go")
		if strings.Contains(got, token) || !strings.HasPrefix(got, "push with [github-pat]") || !strings.HasSuffix(got, ", then go") {
			t.Error(got)
		}
	}
	if got := redact("plain text"); got != "plain text" {
		t.Error(got)
	}
}
