package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"git-ward/internal/cli"
	"git-ward/internal/gittest"
	"git-ward/internal/tier"
	"git-ward/vm"
	"git-ward/vm/asm"
)

func TestMain(m *testing.M) {
	code := m.Run()
	gittest.Clean()
	os.Exit(code)
}

// TestScripts runs testdata/*.txtar against the real binary.
func TestScripts(t *testing.T) {
	tier.First(t, "scripts against the built program")
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

// udc runs the command in a directory and returns what it wrote and its exit code.
func udc(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, trouble bytes.Buffer
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	env := &cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &trouble, Dir: dir, Getenv: func(string) string { return "" }}
	err = UDC.Call(context.Background(), env)
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

// TestInterrupted: a command that a signal ends says so and exits with 2, also
// while it waits for input; analyze does not call what it knows then a verdict.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	silent, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	for _, args := range [][]string{{"run", "-"}, {"check", "-"}, {"check", "--analyze", "-"}, {"fmt", "-"}, {"run", "--trace", "-"}} {
		var out, trouble bytes.Buffer
		env := &cli.Env{Args: args, Stdin: silent, Stdout: &out, Stderr: &trouble, Dir: t.TempDir(), Getenv: func(string) string { return "" }}
		if code := cli.Report(&trouble, "git-ward", UDC.Call(ctx, env)); code != 2 || out.Len() > 0 || !strings.Contains(trouble.String(), "-: interrupted") {
			t.Errorf("%v: exit %d, %s%s", args, code, out.String(), trouble.String())
		}
	}
	p, _ := asm.Parse("p.udc", []byte("LABEL a\nREAD R0\nCMP R0 1\nJNE a"))
	var out, trouble bytes.Buffer
	env := &cli.Env{Stdout: &out, Stderr: &trouble, Dir: t.TempDir()}
	a := &analyzer{options: options{reader: &reader{ctx: ctx, env: env}, limits: vm.Limits{Instructions: 1_000_000, Cells: 1000, Time: time.Minute, Output: 1 << 20}}}
	if err := a.analyze(ctx, p); err == nil || !strings.Contains(err.Error(), "p.udc: interrupted") || out.Len() > 0 {
		t.Errorf("analyze: %v, %s", err, out.String())
	}
	o := &options{reader: &reader{ctx: ctx, env: env}, limits: vm.Limits{Instructions: 1_000_000, Cells: 1000, Time: time.Minute, Output: 1 << 20}}
	if err := o.run(ctx, p); err == nil || !strings.Contains(err.Error(), "p.udc: interrupted after 0 instructions") {
		t.Errorf("run: %v", err)
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
