package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/manual"
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
		{errors.New(strings.Repeat("x", 1<<20)), 2, "p: error: " + strings.Repeat("x", longest) + "...\n"},
		{fmt.Errorf("while: %w", diag.Hint(errors.New("bad"), "do %s", "this")), 2, "p: error: while: bad\np: hint: do this\n"},
		{diag.Hint(fmt.Errorf("x: %w", diag.Hint(diag.Hint(errors.New("bad"), "mend it"), "")), "then go on"), 2, "p: error: x: bad\np: hint: mend it\np: hint: then go on\n"},
	} {
		var b strings.Builder
		if code := Report(&b, "p", c.err); code != c.code || b.String() != c.text {
			t.Errorf("%v: exit %d, %q", c.err, code, b.String())
		}
	}
}

// TestTable: what a table's program does with its first words.
func TestTable(t *testing.T) {
	ran := ""
	verb := Command{Name: "make", Doc: "make one", Run: func(_ context.Context, env *Env) error {
		args, err := env.Flags("clone make", "clone make [--deep] DIR | clone make --all", func(fs *flag.FlagSet) { fs.Bool("deep", false, "look deep") })
		ran = strings.Join(args, " ")
		return err
	}}
	table := &Table{Program: "git ward", About: "About.", Groups: []Group{{"for all", []Command{
		{Name: "clone", Doc: "clone it", Long: "It clones.", Examples: []manual.Example{{Line: "clone make x", Doc: "makes x"}}, Verbs: []Command{verb}},
		{Name: "secret", Doc: "of Ward's own", Hidden: true, Run: verb.Run},
	}}}}
	for _, c := range []struct {
		args     string
		code     int
		out, err string // parts
	}{
		{"clone make a b", 0, "", ""},
		{"", 0, "clone it", ""},
		{"help", 0, "for all", ""},
		{"-h", 0, "for all", ""},
		{"--help", 0, "for all", ""},
		{"--version", 0, "git-ward " + Version, ""},
		{"help clone", 0, "It clones.", ""},
		{"clone help", 0, "git ward clone make x\n      makes x", ""},
		{"clone -h", 0, "usage: git ward clone make\n", ""},
		{"clone --help", 0, "make           make one", ""},
		{"help clone make", 0, "git ward clone make: make one\n\nusage: git ward clone make [--deep] DIR\n   or: git ward clone make --all\n  --deep", ""},
		{"clone help make", 0, "git ward clone make: make one", ""},
		{"clone make --help", 0, "git ward clone make: make one", ""},
		{"clone make -h", 0, "usage: git ward clone make [--deep] DIR\n   or:", ""},
		{"clone", 2, "", "error: clone takes a verb\ngit-ward: hint: `git ward clone help` lists the verbs"},
		{"clone mak", 2, "", "did you mean `git ward clone make`?"},
		{"clone nothing", 2, "", "`git ward clone help` lists the verbs"},
		{"clon", 2, "", "did you mean `git ward clone`?"},
		{"help clon", 2, "", "did you mean `git ward clone`?"},
		{"secre", 2, "", "`git ward help` lists the commands"},
		{"clone make --dep", 2, "", "error: unknown flag --dep; did you mean --deep?\nusage: git ward clone make"},
		{"clone make --deep=perhaps", 2, "", `"perhaps" is no value of --deep`},
	} {
		var out, errs strings.Builder
		code := Report(&errs, "git-ward", table.Run(t.Context(), &Env{Args: strings.Fields(c.args), Stdout: &out, Stderr: &errs}))
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(errs.String(), c.err) || (code == 0) != (errs.Len() == 0) {
			t.Errorf("%q: exit %d\n%s---\n%s", c.args, code, &out, &errs)
		}
		if c.args == "clone make a b" && ran != "a b" {
			t.Errorf("%q ran with %q", c.args, ran)
		}
		if strings.Contains(out.String(), "secret") {
			t.Errorf("%q shows what is hidden", c.args)
		}
	}
}

// TestVersion: the constant is the file's.
func TestVersion(t *testing.T) {
	data, err := os.ReadFile("../../VERSION")
	if err != nil || strings.TrimSpace(string(data)) != Version {
		t.Errorf("VERSION is %q, %v, and the programs say %s", data, err, Version)
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

// TestForms: a choice within brackets is none between two forms.
func TestForms(t *testing.T) {
	for usage, want := range map[string][]string{
		"new [-m TEXT | -F FILE] [--json]": {"new [-m TEXT | -F FILE] [--json]"},
		"lint [REV] | lint --since DATE":   {"lint [REV]", "lint --since DATE"},
		"x a|b (c | [d | e]) | y":          {"x a|b (c | [d | e])", "y"},
	} {
		if got := forms(usage); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", usage, got, want)
		}
	}
}

// TestEndingsIgnored: what nohup shields from a closed terminal stays shielded.
func TestEndingsIgnored(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if which := endings(); slices.Contains(which, os.Signal(syscall.SIGHUP)) || len(which) != 2 {
		t.Errorf("SIGHUP is ignored, and yet taken: %v", which)
	}
}
