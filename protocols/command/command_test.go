package command

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ward/internal/cli"
	"git-ward/protocols/plan"
)

// run calls a command in a directory and returns what it wrote, both outputs together,
// and its error.
func run(t *testing.T, command cli.Command, dir string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	env := &cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: dir, Getenv: func(string) string { return "" }}
	err := command.Call(t.Context(), env)
	return out.String(), err
}

// directory makes files, by path, in a new directory.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// want is what a command is to write, and how it ends: "" is exit 0, "findings" is
// exit 1, "usage" is a command line that it does not take, anything else words of its
// error.
type want struct{ written, ends string }

func (w want) check(t *testing.T, what, out string, err error) {
	t.Helper()
	ended := err == nil
	switch w.ends {
	case "":
	case "findings":
		ended = errors.Is(err, cli.ErrFindings)
	default:
		ended = err != nil && strings.Contains(err.Error(), w.ends)
	}
	if !ended || !strings.Contains(out, w.written) {
		t.Errorf("%s: %v, want %q; wrote %q, want %q", what, err, w.ends, out, w.written)
	}
}

func TestFSM(t *testing.T) {
	dir := folder(t, map[string]string{
		"own.json":    `{"name":"own","start":"A","accept":["B"],"transitions":[{"from":"A","on":"go","to":"B"}]}`,
		"broken.json": `{"name":"own","start":"X"}`,
	})
	for line, w := range map[string]want{
		"":               {"uow ", ""},
		"uow":            {"PENDING_PILOT_APPROVAL", ""},
		"--json uow":     {`"accept":["ARCHIVED"]`, ""},
		"own.json":       {"own: starts in A", ""},
		"--dot own.json": {"digraph", ""},
		"--dot uov":      {"", "neither a machine nor a file"},
		"broken.json":    {"broken.json", "findings"},
		"uow loop":       {"shows one machine", "usage"},
		"--dot":          {"takes one machine", "usage"},
		".":              {"", "is not a file of at most"},
	} {
		out, err := run(t, FSM, dir, strings.Fields(line)...)
		w.check(t, line, out, err)
	}
}

// Plans of a directory outside any repository: what is registered is found by name, and
// a link that leads out of it leads nowhere.
func TestPlans(t *testing.T) {
	research := plan.Research("the moon", "moon", false).String()
	dir := folder(t, map[string]string{
		"plans/moon.txt":  research,
		"plans/wrong.txt": "model\n---\nno_such_tool x\n",
		"add.udc":         "HALT\n",
	})
	outside := folder(t, map[string]string{"p.txt": research})
	if err := os.Symlink(filepath.Join(outside, "p.txt"), filepath.Join(dir, "plans/link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		line string
		want want
	}{
		{"lint plans/wrong.txt", want{"no_such_tool", "findings"}},
		{"lint --json plans/wrong.txt", want{`"plans":1`, "findings"}},
		{"lint " + outside + "/p.txt", want{"", "is not in the working tree"}},
		{"show", want{"", ""}},
		{"register add add.udc", want{"add is add.udc", ""}},
		{"show", want{"program", ""}},
		{"register other none.txt", want{"", "is not a file"}},
		{"register link plans/link.txt", want{"", "is not a file"}},
		{"register wrong plans/wrong.txt", want{"no_such_tool", "findings"}},
		{"show nobody", want{"", "neither a registered plan nor a file"}},
		{"register --remove ad", want{"", "is not registered"}},
		{"register --remove add", want{"no longer registered", ""}},
		{"register --remove", want{"takes 1 arguments", "usage"}},
	} {
		out, err := run(t, Plan(), dir, strings.Fields(step.line)...)
		step.want.check(t, step.line, out, err)
	}
}

func TestProtocol(t *testing.T) {
	for line, w := range map[string]want{
		"compile --lint":      {"", ""},
		"compile":             {"", "there is no protocol below"},
		"compile --lint none": {"", "is not a directory"},
		"compile a b":         {"takes one directory", "usage"},
		"add-tool p":          {"takes 2 arguments", "usage"},
		"update-rule p r":     {"takes 3 arguments", "usage"},
		"add-tool none git":   {"", "none"},
	} {
		dir := folder(t, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
		out, err := run(t, Protocol, dir, strings.Fields(line)...)
		w.check(t, line, out, err)
	}
}

// The verbs of units say what they take before they look for a repository.
func TestUOWUsage(t *testing.T) {
	for line, w := range map[string]want{
		"approve --reason= D-1.1":                  {"", "git"}, // there is a reason by itself
		"fork --fresh --reason X D-1.1":            {"--fresh is the reason FRESH_START", "usage"},
		"approve --reason NOPE D-1.1":              {"--reason is one of APPROVED", "usage"},
		"pause --reason PILOT_HOLD":                {"name one unit", "usage"},
		"retry --waive --deny --reason WAIVED D-1": {"--reason is one of WAIVER_DENIED", "usage"},
		"show D-1.1 D-1.2":                         {"takes one unit", "usage"},
		"show D-1":                                 {"is not a unit's id", "usage"},
		"show":                                     {"", "git"},
		"show --all":                               {"", "git"},
	} {
		out, err := run(t, UOW, t.TempDir(), strings.Fields(line)...)
		w.check(t, line, out, err)
	}
}
