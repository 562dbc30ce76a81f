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
	if err := env.Only("version", "version", func(*flag.FlagSet) {}); err != nil {
		return err
	}
	return printVersion(env.Stdout, "git-ward")
}}
