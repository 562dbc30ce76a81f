package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"git-ward/internal/diag"
)

func TestFlagsMayBeMixedWithArguments(t *testing.T) {
	for args, want := range map[string]string{
		"--json a b":     "true [a b]",
		"a --json b":     "true [a b]",
		"a b --json":     "true [a b]",
		"a -- --json":    "false [a --json]",
		"-- a --json":    "false [a --json]",
		"--json -- -x":   "true [-x]",
		"a":              "false [a]",
		"--json=false a": "false [a]",
	} {
		var json bool
		env := &Env{Args: strings.Fields(args), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}}
		rest, err := env.Flags("x", "x", func(fs *flag.FlagSet) { fs.BoolVar(&json, "json", false, "") })
		if got := fmt.Sprint(json, " ", rest); err != nil || got != want {
			t.Errorf("%q: %s %v, want %s", args, got, err, want)
		}
	}
}

func TestReport(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{flag.ErrHelp, 0, ""},
		{fmt.Errorf("context: %w", ErrFindings), 1, ""},
		{ErrUsage, 2, ""},
		{ExitCode(42), 42, ""},
		{errors.New("bad\x1b[31m"), 2, "p: error: bad\\x1b[31m\n"},
		{fmt.Errorf("while: %w", diag.Hint(errors.New("bad"), "do %s", "this")), 2, "p: error: while: bad\np: hint: do this\n"},
	} {
		var b strings.Builder
		if code := Report(&b, "p", c.err); code != c.code || b.String() != c.text {
			t.Errorf("%v: exit %d, %q", c.err, code, b.String())
		}
	}
}

func TestDispatch(t *testing.T) {
	ran := ""
	f := Dispatch("git ward", "About.", []Group{{"for all", []Command{
		{"clone", "make one", func(_ context.Context, env *Env) error { ran = strings.Join(env.Args, " "); return nil }},
	}}})
	var out, errs strings.Builder
	run := func(args ...string) int {
		out.Reset()
		errs.Reset()
		return Report(&errs, "git-ward", f(t.Context(), &Env{Args: args, Stdout: &out, Stderr: &errs}))
	}
	if code := run("clone", "a", "b"); code != 0 || ran != "a b" {
		t.Error(code, ran)
	}
	if code := run(); code != 2 || !strings.Contains(errs.String(), "make one") {
		t.Error(code, errs.String())
	}
	if code := run("help"); code != 0 || !strings.Contains(out.String(), "for all") {
		t.Error(code, out.String())
	}
	if code := run("clon"); code != 2 || !strings.Contains(errs.String(), "did you mean `git ward clone`?") {
		t.Error(code, errs.String())
	}
}

// TestUsageShowsWhatPeopleType: a flag that only Ward's own programs give is none of it.
func TestUsageShowsWhatPeopleType(t *testing.T) {
	var out strings.Builder
	env := &Env{Args: []string{"-h"}, Stdout: &out, Stderr: &out}
	_, err := env.Flags("x", "x [--deep]", func(fs *flag.FlagSet) {
		fs.Bool("deep", false, "look deep")
		fs.Bool("inner", false, "")
	})
	if !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "--deep") || strings.Contains(out.String(), "inner") {
		t.Errorf("%v\n%s", err, &out)
	}
}
