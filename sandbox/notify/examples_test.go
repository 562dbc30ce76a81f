package notify

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"git-ward/internal/config"
	"git-ward/internal/gittest"
)

// example is the command of a block of docs/admin.md that names a program.
func example(t *testing.T, program string) []string {
	t.Helper()
	data, err := os.ReadFile("../../docs/admin.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```toml\n(\\[notify\\]\n.*?)```").FindAllStringSubmatch(string(data), -1) {
		if c, err := config.Parse([]byte(block[1]), "config.toml"); err != nil {
			t.Error(err)
		} else if strings.Contains(strings.Join(c.Notify.Command, " "), program) {
			return c.Notify.Command
		}
	}
	t.Fatalf("docs/admin.md has no example with %s", program)
	return nil
}

// standIn puts a program on PATH that writes down how it was called and what it read.
func standIn(t *testing.T, name string) (heard string) {
	t.Helper()
	dir := t.TempDir()
	heard = filepath.Join(dir, "heard")
	script := "#!/bin/sh\nfor a; do echo \"arg: $a\"; done >" + heard + "\ncat >>" + heard + "\n"
	gittest.Program(t, filepath.Join(dir, name), script)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return heard
}

// odd is a thing whose words a mailer or a desktop could take for more.
func odd() Waiting {
	w := thing("D-1", "a")
	w.Title, w.Words = "<b>bold</b> & 'so'", ".\n-i\nBcc: x@example.org\n$(id)"
	return w
}

// TestExamples runs each of docs/admin.md's commands against a stand-in of this machine.
func TestExamples(t *testing.T) {
	t.Run("mail", func(t *testing.T) {
		heard := standIn(t, "sendmail")
		told(t, example(t, "sendmail"))
		data, _ := os.ReadFile(heard)
		head, body, _ := strings.Cut(string(data), "\n\n")
		if head != "arg: -i\narg: -t\nTo: pm@example.org\nSubject: Ward: D-1 waits for you (question)\nContent-Type: text/plain; charset=utf-8" ||
			!strings.HasPrefix(body, "D-1: it asks you something\n    <b>bold") || !strings.Contains(body, "\n    .\n    -i\n    Bcc: ") {
			t.Errorf("%s", data)
		}
	})
	t.Run("webhook", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip("SKIPPED: curl is not installed")
		}
		var title, body, token string
		status := http.StatusOK
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			title, body, token = r.Header.Get("Title"), string(data), r.Header.Get("Authorization")
			w.WriteHeader(status)
		}))
		defer server.Close()
		settings := filepath.Join(t.TempDir(), "curl")
		if err := os.WriteFile(settings, []byte("header = \"Authorization: Bearer secret\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		command := example(t, "curl")
		for i, word := range command {
			command[i] = strings.NewReplacer("/srv/ward/webhook.curl", settings, "https://ntfy.example.org", server.URL).Replace(word)
		}
		told(t, command)
		if title != "Ward" || token != "Bearer secret" || !strings.HasPrefix(body, "D-1: it asks you something\n") {
			t.Errorf("%q %q %q", title, token, body)
		}
		status = http.StatusServiceUnavailable
		b := newBench(t, "true")
		b.s.Command = command
		b.things = []Waiting{odd()}
		if b.look(); b.Notifier.told.Failing == nil || !strings.Contains(b.Notifier.told.Failing.Why, "503") {
			t.Errorf("%+v", b.Notifier.told)
		}
	})
	t.Run("desktop", func(t *testing.T) {
		heard := standIn(t, "notify-send")
		told(t, example(t, "notify-send"))
		data, _ := os.ReadFile(heard)
		if !strings.HasPrefix(string(data), "arg: --app-name=Ward\narg: --\narg: Ward: D-1\narg: D-1: it asks you something\n    &lt;b>bold&lt;/b> &amp; 'so'\n") {
			t.Errorf("%s", data)
		}
	})
}

// told has a command told of an odd thing, and fails the test where it fails.
func told(t *testing.T, command []string) {
	t.Helper()
	b := newBench(t, "true")
	b.s = Settings{Command: command, Timeout: 10 * time.Second, PerHour: 1}
	b.things = []Waiting{odd()}
	if b.look(); b.Notifier.told.Failing != nil {
		t.Errorf("%+v", b.Notifier.told.Failing)
	}
}
