package command

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/sandbox/launch"
	"git-ward/sandbox/probe"
)

// envOf is a command's environment for words, whose output is in out.
func envOf(words string, out io.Writer) *cli.Env {
	return &cli.Env{Args: strings.Fields(words), Stdout: out, Stderr: out, Dir: "/srv", Getenv: func(string) string { return "" }}
}

// TestParseLaunch: a command runs fenced and in the foreground, and what an agent
// prints is always cleaned.
func TestParseLaunch(t *testing.T) {
	for words, want := range map[string]string{
		"--bare x --unfenced -- sh":     "a command (sh) runs fenced and in the foreground",
		"--bare x --detach -- sh -c id": "a command (sh) runs fenced and in the foreground",
		"--bare x --once sh":            "a command (sh) runs fenced and in the foreground",
		"--bare x --raw":                "--raw is for a command",
		"--bare x --no-such":            "unknown flag --no",
	} {
		var out strings.Builder
		if o, err := parseLaunch(envOf(words, &out)); !errors.Is(err, cli.ErrUsage) || !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "usage: git ward launch") {
			t.Errorf("%q: %+v, %v\n%s", words, o, err, &out)
		}
	}
	o, err := parseLaunch(envOf("--bare x --raw -- sh --once", io.Discard))
	if err != nil || o.bare != "x" || !o.raw || o.once || strings.Join(o.command, " ") != "sh --once" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestDetachedArguments: the launcher in the background has the same words, but for one that
// says that it is there.
func TestDetachedArguments(t *testing.T) {
	if got := strings.Join(withoutDetach(strings.Fields("--bare x --detach --once -detach")), " "); got != "launch --background --bare x --once" {
		t.Error(got)
	}
}

// TestChooseModel: nobody works by accident, and without a fence only the script.
func TestChooseModel(t *testing.T) {
	for _, c := range []struct {
		configured, flagged string
		unfenced            bool
		want, err           string
	}{
		{"", "", false, "", "no model is configured"},
		{"", "", true, "script", ""},
		{"openai", "", false, "openai", ""},
		{"openai", "", true, "", "needs the fence"},
		{"openai", "script", true, "script", ""},
		{"openai", "clever", false, "", `unknown model "clever"`},
	} {
		s := &launch.Spec{Settings: config.Default(), Unfenced: c.unfenced, Bare: "/srv/repo.git"}
		s.Settings.Model.Name = c.configured
		got, err := chooseModel(s, c.flagged, io.Discard)
		var hinted *diag.Hinted
		if got != c.want || (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || !errors.As(err, &hinted)) {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// TestParseVerify: a commit, and either a directive or lines.
func TestParseVerify(t *testing.T) {
	for _, words := range []string{"", "--bare x", "--bare x main", "--bare x --run true", "--bare x --run true main D-1", "--bare x main D-1 D-2"} {
		var out strings.Builder
		if o, err := parseVerify(envOf(words, &out)); !errors.Is(err, cli.ErrUsage) {
			t.Errorf("%q: %+v, %v", words, o, err)
		}
	}
	o, err := parseVerify(envOf("--bare x main --run true --run false --replays 2", io.Discard))
	if err != nil || o.commit != "main" || o.directive != "" || strings.Join(o.lines, " ") != "true false" || o.replays != 2 || o.main != "" {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parseVerify(envOf("--bare x main D-1", io.Discard)); err != nil || o.directive != "D-1" {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestVerbs: a verb that there is not is an error with a remedy, and so is a place without a
// repository.
func TestVerbs(t *testing.T) {
	for _, words := range []string{"", "no-such", "Launch", "status", "probe", "launch", "verify HEAD D-1", "launch stop"} {
		var hinted *diag.Hinted
		if err := Main(nil)(context.Background(), envOf(words, io.Discard)); !errors.As(err, &hinted) {
			t.Errorf("%q: %v", words, err)
		}
	}
	var out strings.Builder
	if err := Main(nil)(context.Background(), envOf("probe extra words", &out)); !errors.Is(err, cli.ErrUsage) || !strings.Contains(out.String(), "usage: git ward probe [--bare DIR]") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestWriteResults: a broken promise is exit 1, and what came from inside is cleaned.
func TestWriteResults(t *testing.T) {
	results := []probe.Result{{ID: "SBX-2", Promise: "refused", Held: true, Detail: "at once"}, {ID: "SBX-3", Promise: "raw socket", Detail: "ALLOWED \x1b[2J"}}
	var text, lines strings.Builder
	if err := writeResults(&text, results); !errors.Is(err, cli.ErrFindings) {
		t.Error(err)
	}
	if want := "held   SBX-2  refused    at once\nBROKEN SBX-3  raw socket ALLOWED \\x1b[2J\n2 promises tried, 1 broken\n"; text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
	if err := writeResultsJSON(&lines, results); !errors.Is(err, cli.ErrFindings) || strings.Count(lines.String(), "\n") != 2 {
		t.Errorf("%v\n%s", err, &lines)
	}
	if err := writeResults(io.Discard, results[:1]); err != nil {
		t.Error(err)
	}
}
