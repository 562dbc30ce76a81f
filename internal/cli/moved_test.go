package cli

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// said runs a table with a command line, and is what it wrote to both streams.
func said(t *testing.T, table *Table, args ...string) (out, trouble string, err error) {
	t.Helper()
	var o, e strings.Builder
	env := &Env{Args: args, Stdin: strings.NewReader(""), Stdout: &o, Stderr: &e, Dir: "/", Getenv: func(string) string { return "" }}
	err = table.Run(context.Background(), env)
	return o.String(), e.String(), err
}

// does is a command that writes its name and its arguments; all is a flag of its own.
func does(name, usage string) Func {
	return func(_ context.Context, env *Env) error {
		var all bool
		args, err := env.Flags(name, usage, func(fs *flag.FlagSet) { fs.BoolVar(&all, name, false, "what only "+name+" has") })
		if err == nil {
			_, err = env.Stdout.Write([]byte(name + " " + strings.Join(args, " ")))
		}
		return err
	}
}

// TestWays: a switch asks for another way, and so does a line without arguments; the manual
// and the usage of the command have them all.
func TestWays(t *testing.T) {
	table := &Table{Program: "git ward", Groups: []Group{{Commands: []Command{{Name: "fsm", Doc: "machines", Run: does("show", "fsm FILE"),
		Ways: []Way{{Run: does("list", "fsm")}, {Switch: "dot", Doc: "draw it", Run: does("draw", "fsm --dot FILE")}}}}}}}
	for line, want := range map[string]string{"fsm x": "show x", "fsm": "list ", "fsm --list": "list ", "fsm --dot x": "draw x", "fsm x --dot": "draw x", "fsm -- --dot": "show --dot"} {
		if out, trouble, err := said(t, table, strings.Fields(line)...); out != want || trouble != "" || err != nil {
			t.Errorf("%s: %q %q %v, want %q", line, out, trouble, err, want)
		}
	}
	for _, line := range []string{"fsm -h", "fsm --help", "fsm --dot --help", "help fsm"} {
		out, _, err := said(t, table, strings.Fields(line)...)
		for _, want := range []string{"git ward fsm FILE\n", "or: git ward fsm\n", "or: git ward fsm --dot FILE\n", "--dot ", "--draw ", "--list ", "--show "} {
			if !strings.Contains(out, want) || !errors.Is(err, flag.ErrHelp) {
				t.Errorf("%s has no %q: %v\n%s", line, want, err, out)
			}
		}
	}
}

// TestMoved: words of before do what they did, and say what they are now.
func TestMoved(t *testing.T) {
	table := &Table{Program: "git ward", Groups: []Group{{Commands: []Command{{Name: "lease", Run: does("list", "lease"),
		Ways: []Way{{Switch: "revoke", Doc: "take it away", Run: does("revoke", "lease --revoke D-n")}}}}}}}
	for line, want := range map[string]string{"lease list": "list ", "lease revoke D-1": "revoke D-1", "lease": "list ", "lease --revoke D-1": "revoke D-1"} {
		out, trouble, err := said(t, table, strings.Fields(line)...)
		if out != want || err != nil || (trouble != "") == strings.Contains(line, "--") && line != "lease" {
			t.Errorf("%s: %q %q %v, want %q", line, out, trouble, err, want)
		}
	}
	if _, trouble, _ := said(t, table, "lease", "revoke", "D-1"); trouble != "git-ward: note: git ward lease revoke is now git ward lease --revoke\n" {
		t.Error(trouble)
	}
	for _, was := range slices.Sorted(maps.Keys(moved)) {
		if moved[moved[was]] != "" || len(strings.Fields(was)) != 2 {
			t.Errorf("%s is now %s, which has moved itself, or is no two words", was, moved[was])
		}
	}
}

// TestMovedIsDocumented: docs/admin.md has a row for each verb of before, and no other.
func TestMovedIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/admin.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: this tree has no docs")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Earlier verbs\n")
	section, _, _ = strings.Cut(section, "\n#")
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+)` \\| `(.+)` \\|$").FindAllStringSubmatch(section, -1) {
		rows[row[1]] = row[2]
	}
	if !maps.Equal(rows, moved) {
		t.Errorf("docs/admin.md has %v, want %v", rows, moved)
	}
}
