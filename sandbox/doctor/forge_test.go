package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/config"
)

// TestForge: doctor says whether others can read the token, and what the program that asks the
// forge found; that it could not ask is said, too (FORGE-5).
func TestForge(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program := func(name, script string) string { return file(name, "#!/bin/sh\n"+script, 0o755) }
	token, open := file("token", "0123456789abcdef\n", 0o600), file("open", "0123456789abcdef\n", 0o640)
	const fine, lacks = `{"thing":"forge: token","state":"fine","detail":"of bot"}`, `{"thing":"forge: statuses","state":"missing","detail":"the token lacks a right","mend":"give it"}`
	asks := `[ "$*" = "forge --check --json --bare /srv/p.git" ] || exit 2` + "\n"
	for _, c := range []struct {
		name, url, token, program, webhook, want string
	}{
		{"no forge", "", "", "none", "", ""},
		{"fine", "https://forge.example/o/p", token, program("fine", asks+"echo '"+fine+"'"), "", "fine forge: token"},
		{"a right is missing", "https://forge.example/o/p", token, program("lacks", asks+"echo '"+fine+"'; echo '"+lacks+"'; exit 1"), "", "fine forge: token; missing forge: statuses (give it)"},
		{"others read the token", "https://forge.example/o/p", open, "none", "", "missing forge: token"},
		{"others read the secret", "https://forge.example/o/p", token, program("hook", "echo '"+fine+"'"), "127.0.0.1:7071", "missing forge: webhook"},
		{"trouble", "https://forge.example/o/p", token, program("trouble", "echo no such host >&2; exit 2"), "", "no such host"},
		{"no program", "https://forge.example/o/p", token, "", "", "it cannot be asked"},
	} {
		s := config.Default()
		s.Forge.URL, s.Forge.TokenFile, s.Forge.Webhook, s.Forge.WebhookSecretFile = c.url, c.token, c.webhook, open
		var got []string
		for _, f := range Forge(t.Context(), "/srv/p.git", s, c.program) {
			text := string(f.State) + " " + f.Thing
			switch {
			case f.State == Missing && f.Mend == "":
				t.Errorf("%s: %+v has no remedy", c.name, f)
			case f.Mend == "give it":
				text += " (give it)"
			case f.Thing == "forge":
				text += f.Detail
			}
			got = append(got, text)
		}
		if got := strings.Join(got, "; "); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}
