package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/await"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
)

// page prints a line of each kind and gives what a terminal, or a pipe, gets.
func page(t *testing.T, tty bool, env map[string]string) string {
	t.Helper()
	for name, value := range env {
		t.Setenv(name, value)
	}
	var out bytes.Buffer
	e := &cli.Env{Stdout: diag.NewScreen(&out), Dir: t.TempDir(), Getenv: os.Getenv}
	read := func() string { return out.String() }
	if tty {
		other, screen := terminal(t)
		e.Stdout = diag.NewScreen(screen)
		read = func() string {
			screen.WriteString("END")
			data := make([]byte, 0, 4096)
			for !bytes.HasSuffix(data, []byte("END")) {
				other.SetReadDeadline(await.Deadline(t)) // the terminal has it already
				n, err := other.Read(data[len(data):cap(data)])
				if data = data[:len(data)+n]; err != nil {
					t.Fatalf("%q: %v", data, err)
				}
			}
			return strings.ReplaceAll(strings.TrimSuffix(string(data), "END"), "\r\n", "\n")
		}
	}
	p, err := e.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Print(cli.Good, "+good \x1b[2J\tx\n+more\n")
	p.Printf(cli.Plain, "%s\n", "plain \u202e")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return read()
}

// A Page has colours and a pager where git would have them, and what is printed on it is
// cleaned all the same (REC-3, GATE-7).
func TestPage(t *testing.T) {
	const plain = "+good \\x1b[2J\tx\n+more\nplain \\u202e\n"
	const coloured = "\x1b[32m+good \\x1b[2J\tx\x1b[m\n\x1b[32m+more\x1b[m\nplain \\u202e\n"
	paged := filepath.Join(t.TempDir(), "paged")
	settings := func(more map[string]string) map[string]string {
		env := map[string]string{"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "TERM": "xterm", "NO_COLOR": "", "GIT_PAGER": "cat", "GIT_PAGER_IN_USE": ""}
		for name, value := range more {
			env[name] = value
		}
		return env
	}
	for name, test := range map[string]struct {
		tty  bool
		env  map[string]string
		want string
	}{
		"a pipe":                {false, nil, plain},
		"a pipe, always":        {false, map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "color.ui", "GIT_CONFIG_VALUE_0": "always"}, coloured},
		"below git -p":          {false, map[string]string{"GIT_PAGER_IN_USE": "true"}, coloured},
		"a pipe starts nothing": {false, map[string]string{"GIT_PAGER": "echo started"}, plain},
		"a terminal":            {true, nil, coloured},
		"a dumb terminal":       {true, map[string]string{"TERM": "dumb"}, plain},
		"no colour":             {true, map[string]string{"NO_COLOR": "1"}, plain},
		"a pager":               {true, map[string]string{"GIT_PAGER": "tee " + paged + " | sed s/good/GOOD/"}, strings.Replace(coloured, "good", "GOOD", 1)},
		"a pager that leaves":   {true, map[string]string{"GIT_PAGER": "true"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := page(t, test.tty, settings(test.env)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if data, err := os.ReadFile(paged); err != nil || string(data) != coloured {
		t.Errorf("the pager read %q, %v", data, err)
	}
}

// A reader who leaves ends the output, which is as long as it is: no error, and the
// writer hears of it.
func TestPageLeft(t *testing.T) {
	t.Setenv("GIT_PAGER", "head -c 1")
	t.Setenv("TERM", "xterm")
	_, screen := terminal(t)
	p, err := (&cli.Env{Stdout: diag.NewScreen(screen), Dir: t.TempDir(), Getenv: os.Getenv}).Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for n < 1_000_000 && p.Print(cli.Plain, "a long, long text\n") == nil {
		n++
	}
	if n == 1_000_000 {
		t.Error("the writer heard of nothing")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
