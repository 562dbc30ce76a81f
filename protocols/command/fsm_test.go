package command

import (
	"strings"
	"testing"

	"git-ward/internal/cli"
)

// run calls a command as main does, in a directory without a repository.
func run(t *testing.T, f cli.Func, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	env := &cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: t.TempDir(), Getenv: func(string) string { return "" }}
	code = cli.Report(&errs, "git-ward", f(t.Context(), env))
	return code, out.String(), errs.String()
}

// TestCommandLines: what each verb says to right and wrong words, by its exit code and
// how a line of its output or of its errors begins.
func TestCommandLines(t *testing.T) {
	for _, c := range []struct {
		f            cli.Func
		args         string
		code         int
		stdout, line string // "" where nothing is printed there
	}{
		{FSM, "list", 0, "fdc ", ""},
		{FSM, "list x", 2, "", `git-ward: error: unexpected argument "x"`},
		{FSM, "show uow", 0, "uow: starts in PENDING", ""},
		{FSM, "show --json fdc", 0, `{"name":"fdc"`, ""},
		{FSM, "dot loop", 0, `digraph "loop" {`, ""},
		{FSM, "dot nowhere", 2, "", "git-ward: error: "},
		{FSM, "dot", 2, "", "git-ward: error: "},
		{FSM, "draw", 2, "", "git-ward: error: "},
		{UOW, "list", 2, "", "git-ward: hint: run it in a clone of a ward repository"},
		{UOW, "show", 2, "", "git-ward: error: show takes one unit"},
		{UOW, "pause D-1.1", 2, "", "git-ward: error: --reason is one of "},
		{UOW, "approve --reason APPROVED", 2, "", "git-ward: error: name one unit"},
		{Protocol, "compile", 2, "", "git-ward: error: "},
		{Protocol, "paint", 2, "", "git-ward: error: "},
	} {
		code, stdout, stderr := run(t, c.f, strings.Fields(c.args)...)
		if code != c.code || !begins(stdout, c.stdout) || !begins(stderr, c.line) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
}

// begins reports whether a line of a text begins so; "" wants no text.
func begins(text, prefix string) bool {
	return prefix == "" && text == "" || prefix != "" && strings.Contains("\n"+text, "\n"+prefix)
}
