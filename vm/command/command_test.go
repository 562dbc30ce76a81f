package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"git-ward/internal/cli"
	"git-ward/internal/gittest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// TestScripts runs testdata/*.txtar against the real binary.
func TestScripts(t *testing.T) {
	if _, err := gittest.Bin(); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			vars, err := gittest.Environ(env.WorkDir)
			for _, v := range vars {
				name, value, _ := strings.Cut(v, "=")
				env.Setenv(name, value)
			}
			return err
		},
	})
}

// udc runs the command in a folder and returns what it wrote and its exit code.
func udc(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, trouble bytes.Buffer
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	env := &cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &trouble, Dir: dir, Getenv: func(string) string { return "" }}
	err = UDC(context.Background(), env)
	return out.String(), trouble.String(), cli.Report(&trouble, "git-ward", err)
}

// TestExamples holds every example to its JSON. The first line of one may say
// with which limits it runs.
func TestExamples(t *testing.T) {
	names, err := filepath.Glob("../examples/*.udc")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"run", "--json"}
		first, _, _ := strings.Cut(string(text), "\n")
		if limits, ok := strings.CutPrefix(first, "# run: "); ok {
			args = append(args, strings.Fields(limits)...)
		}
		want, err := os.ReadFile(strings.TrimSuffix(name, ".udc") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		got, stderr, code := udc(t, "../examples", append(args, filepath.Base(name))...)
		if got != string(want) || stderr != "" || (code == 0) != strings.Contains(got, `"HALTED"`) {
			t.Errorf("%s: exit %d, %s\ngot  %.300s\nwant %.300s", name, code, stderr, got, want)
		}
	}
}

// TestWorse: trouble before findings, findings before nothing.
func TestWorse(t *testing.T) {
	trouble := errors.New("trouble")
	for _, c := range [][3]error{
		{nil, nil, nil}, {nil, cli.ErrFindings, cli.ErrFindings}, {cli.ErrFindings, nil, cli.ErrFindings},
		{cli.ErrFindings, trouble, trouble}, {trouble, cli.ErrFindings, trouble}, {cli.ErrFindings, errUnread, errUnread},
	} {
		if got := worse(c[0], c[1]); got != c[2] {
			t.Errorf("worse(%v, %v) = %v", c[0], c[1], got)
		}
	}
}
