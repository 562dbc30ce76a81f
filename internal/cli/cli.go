// Package cli is the frame of every Ward command: what it may touch (Env), how it reports a
// failure, and which exit code follows.
//
// Only this package prints errors and exits: `git-ward: error: ...` and then
// `git-ward: hint: ...`. Exit 0 is clean, 1 means findings or a refusal, 2
// usage or trouble.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/diag"
	"git-ward/internal/manual"
)

// Env is all that a command may touch of the process around it, so that tests
// call the same function as main.
type Env struct {
	Program string   // how errors name it; "" is git-ward
	Args    []string // after the command's own name
	Stdin   io.Reader
	Stdout  io.Writer // main's cleans what is printed (diag.Screen); see Raw and Bytes
	Stderr  io.Writer // as Stdout
	Dir     string    // absolute
	Getenv  func(string) string

	words   string   // how the running command is typed, git ward uow approve; "" outside a table
	command *Command // it
	asked   *asked   // it is not run, but asked for its flags
	process *process // of main; nil where there is none of the command's own
}

// Raw unwraps a Screen and returns any other stream as it is. Use it for protocols and for a
// program's own output, which must arrive byte for byte.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*diag.Screen); ok {
		return s.Under()
	}
	return w
}

// Bytes is Raw for a file or a pipe. On a terminal, even a program's own output is cleaned.
func Bytes(w io.Writer) io.Writer {
	if f, ok := Raw(w).(*os.File); ok {
		if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err == nil {
			return w
		}
	}
	return Raw(w)
}

// Func is a command. It returns nil, ErrFindings (exit 1), ErrUsage, an ExitCode, or
// any other error, which Report prints (exit 2).
type Func func(ctx context.Context, env *Env) error

// ErrFindings ends a command with exit 1; the findings have been printed.
var ErrFindings = errors.New("findings")

// ErrUsage ends a command with exit 2; the usage has been printed.
var ErrUsage = errors.New("usage")

// ExitCode ends a command with the exit code of the program that it ran. Nothing more is
// printed.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// Path makes an argument absolute, relative to the command's directory.
func (e *Env) Path(arg string) string {
	if filepath.IsAbs(arg) {
		return filepath.Clean(arg)
	}
	return filepath.Join(e.Dir, arg)
}

// Flags parses e.Args with a flag set that the caller fills, and returns the other
// arguments. Flags and arguments may be mixed, as with git; after `--` everything is an
// argument. usage is what is typed after `git ward`, other forms after " | ". A fault
// prints the usage and returns ErrUsage; -h prints it to stdout and --help the manual, and
// both return flag.ErrHelp, which Report takes as exit 0. A flag without a text is not
// shown. A command calls it before all else: it is also how the command tells its flags.
func (e *Env) Flags(name, usage string, fill func(*flag.FlagSet)) ([]string, error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fill(fs)
	rest, help, err := parse(fs, e.Args)
	if e.asked != nil {
		e.asked.usage, e.asked.flags, e.asked.rest, e.asked.fault = usage, flagsOf(fs), rest, err
		return nil, errAsked
	}
	switch {
	case help == "h":
		e.manual(name, usage, fs).WriteUsage(e.Stdout)
		return nil, flag.ErrHelp
	case help != "":
		return nil, errors.Join(flag.ErrHelp, e.manual(name, usage, fs).WriteText(e.Stdout))
	case err != nil:
		program, _ := e.names()
		fmt.Fprintf(e.Stderr, "%s: error: %s\n", program, line(err.Error()))
		e.manual(name, usage, fs).WriteUsage(e.Stderr)
		return nil, ErrUsage
	}
	return rest, nil
}

// Only is Flags for a command that takes no other argument.
func (e *Env) Only(name, usage string, fill func(*flag.FlagSet)) error {
	rest, err := e.Flags(name, usage, fill)
	if err == nil && len(rest) > 0 {
		err = e.Usage(usage, "unexpected argument %q", rest[0])
	}
	return err
}

// Usage reports a fault in the arguments and returns ErrUsage.
func (e *Env) Usage(usage, format string, args ...any) error {
	program, _ := e.names()
	fmt.Fprintf(e.Stderr, "%s: error: %s\n", program, line(fmt.Sprintf(format, args...)))
	e.manual("", usage, nil).WriteUsage(e.Stderr)
	return ErrUsage
}

// names are the program as errors say it and as usage lines begin: git-ward's
// commands are typed after `git ward`, the other programs by their own name.
func (e *Env) names() (program, prefix string) {
	if e.Program == "" || e.Program == "git-ward" {
		return "git-ward", manual.Ward
	}
	return e.Program, ""
}

// longest bounds the part of an error's line that is shown: no path is longer, but a quoted
// argument may be.
const longest = 8 << 10

// line is a line of an error as a terminal may have it.
func line(text string) string { return diag.Clean(diag.Cut(text, longest)) }

// Report prints an error and its hints, and returns the exit code for it.
func Report(w io.Writer, program string, err error) int {
	var code ExitCode
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrFindings):
		return 1
	case errors.Is(err, ErrUsage):
		return 2
	case errors.As(err, &code):
		return int(code)
	}
	text := strings.TrimRight(err.Error(), "\n")
	for part := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(w, "%s: error: %s\n", program, line(part))
	}
	for _, hint := range diag.Hints(err) {
		for part := range strings.SplitSeq(hint, "\n") {
			fmt.Fprintf(w, "%s: hint: %s\n", program, line(part))
		}
	}
	return 2
}

// Main runs a command as a process: it cancels on the first SIGINT or SIGTERM,
// reports the error, and exits. `--version` alone is answered here, for every program alike.
func Main(program string, f Func) {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		os.Exit(Report(os.Stderr, program, printVersion(os.Stdout, program)))
	}
	p := new(process)
	ctx, over := p.interruptible(os.Stderr, program)
	dir, err := os.Getwd()
	if err == nil {
		out, errs := diag.NewScreen(os.Stdout), diag.NewScreen(os.Stderr)
		err = f(ctx, &Env{Program: program, Args: os.Args[1:], Stdin: os.Stdin, Stdout: out, Stderr: errs, Dir: dir, Getenv: os.Getenv, process: p})
		errs.Flush()
		lost := out.Flush()
		if program == "git-ward" && (err == nil || errors.Is(err, flag.ErrHelp)) {
			err = lost // incomplete output is no success; a hook's verdict does not depend on it
		}
	}
	code := p.end(ctx, os.Stderr, program, err)
	over()
	os.Exit(code)
}
