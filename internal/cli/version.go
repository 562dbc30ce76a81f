package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
)

// Version is Ward's version. It equals the file VERSION at the top of the module, which a
// package below it cannot embed; a test compares the two.
const Version = "0.1.0"

// released is the day of that version, for the man pages.
const released = "2026-11-22"

// printVersion prints what every program of Ward answers to --version.
func printVersion(w io.Writer, program string) error {
	_, err := fmt.Fprintf(w, "%s %s\n", program, Version)
	return err
}

// VersionCommand is `git ward version`, which says what --version does.
var VersionCommand = Command{Name: "version", Hidden: true, Doc: "print the version", Run: func(_ context.Context, env *Env) error {
	rest, err := env.Flags("version", "version", func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return env.Usage("version", "unexpected argument %q", rest[0])
	}
	return printVersion(env.Stdout, "git-ward")
}}
