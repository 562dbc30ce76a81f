package command

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"

	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/vm/asm"
)

const formatUsage = "udc fmt [--write | --check] [--json] FILE..."

// formatter is `git ward udc fmt`.
type formatter struct {
	*reader
	write, check bool
}

// formatted is the JSON of fmt.
type formatted struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"` // the canonical form differs from the file
	Text    string `json:"text,omitempty"`
}

// format prints plans in their canonical form; with --write it changes the files,
// with --check it names those that it would change, and exits with 1 for them.
func format(ctx context.Context, env *cli.Env) error {
	f := &formatter{reader: &reader{ctx: ctx, env: env}}
	args, err := env.Flags("udc fmt", formatUsage, func(fs *flag.FlagSet) {
		fs.BoolVar(&f.write, "write", false, "write the files instead of printing")
		fs.BoolVar(&f.check, "check", false, "only name the files that are not canonical")
		fs.BoolVar(&f.json, "json", false, "one JSON object a line")
	})
	if err != nil {
		return err
	}
	if f.write && f.check {
		return env.Usage(formatUsage, "--write and --check exclude each other")
	}
	if err := files(env, formatUsage, args); err != nil {
		return err
	}
	var worst error
	for _, name := range args {
		worst = worse(worst, f.format(name))
	}
	return worst
}

func (f *formatter) format(name string) error {
	data, err := f.read(name)
	if err != nil {
		return err
	}
	text, found := asm.Format(name, data)
	if found != nil {
		return f.refuse(name, found)
	}
	changed := !bytes.Equal(data, text)
	if f.write && changed && name != "-" {
		if err := f.replace(name, text); err != nil {
			return err
		}
	}
	if err := f.show(name, changed, text); err != nil {
		return err
	}
	if f.check && changed {
		return cli.ErrFindings
	}
	return nil
}

// replace writes the file that a name leads to, links followed, and keeps its mode.
func (f *formatter) replace(name string, text []byte) error {
	info, err := os.Stat(f.env.Path(name))
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	return atomicfile.Write(f.env.Path(name), text, info.Mode().Perm())
}

func (f *formatter) show(name string, changed bool, text []byte) error {
	prints := !f.check && (!f.write || name == "-")
	if f.json {
		out := formatted{File: name, Changed: changed}
		if prints {
			out.Text = string(text)
		}
		return diag.WriteJSON(f.env.Stdout, out)
	}
	var err error
	switch {
	case prints:
		_, err = cli.Bytes(f.env.Stdout).Write(text)
	case changed:
		_, err = fmt.Fprintln(f.env.Stdout, diag.Clean(name))
	}
	return err
}
