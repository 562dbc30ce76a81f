package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/vm/asm"
)

// reader reads the plans of one command, and prints what is wrong with them.
type reader struct {
	ctx  context.Context // of the command
	env  *cli.Env
	json bool
}

// unread is the JSON of a plan that could not be read.
type unread struct {
	File     string            `json:"file"`
	Findings []diag.Diagnostic `json:"findings"`
}

// each calls f for every named plan that can be read and parsed. It prints the findings of the
// others, and the command then ends with exit 2.
func (r *reader) each(names []string, f func(*asm.Program) error) error {
	var worst error
	for _, name := range names {
		p, err := r.plan(name)
		if err == nil {
			err = f(p)
		}
		worst = worse(worst, err)
	}
	return worst
}

func (r *reader) plan(name string) (*asm.Program, error) {
	data, err := r.read(name)
	if err != nil {
		return nil, err
	}
	p, found := asm.Parse(name, data)
	if found != nil {
		return nil, r.refuse(name, found)
	}
	return p, nil
}

// refuse prints why a plan cannot be used.
func (r *reader) refuse(name string, found []diag.Diagnostic) error {
	if r.json {
		if err := diag.WriteJSON(r.env.Stdout, unread{name, found}); err != nil {
			return err
		}
		return errUnread
	}
	diag.WriteText(r.env.Stderr, found)
	return errUnread
}

// read reads a file, or standard input for "-". Of a larger file it reads just enough to
// exceed the limit. An interrupt ends the wait for a terminal or pipe that sends nothing.
func (r *reader) read(name string) (data []byte, err error) {
	done := make(chan func(), 1)
	go func() {
		d, e := r.open(name)
		done <- func() { data, err = d, e }
	}()
	select {
	case take := <-done:
		take()
	case <-r.ctx.Done():
		return nil, interrupted(name)
	}
	if err != nil {
		return nil, r.missing(name, err)
	}
	return data, nil
}

func (r *reader) open(name string) ([]byte, error) {
	if name == "-" {
		return readPlan(r.env.Stdin)
	}
	file, err := os.Open(r.env.Path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readPlan(file)
}

// interrupted is the error of a command that a signal ended.
func interrupted(name string) error { return fmt.Errorf("%s: interrupted", name) }

func readPlan(in io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(in, asm.MaxBytes+1)) }

// limited reads a file that is not a plan, up to a size.
func (r *reader) limited(name string, most int64) ([]byte, error) {
	file, err := os.Open(r.env.Path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return data, err
}

// missing is an unreadable file as a finding, so that the other files are still judged and a
// program gets a line for this one, too.
func (r *reader) missing(name string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err // the place names the file already
	}
	return r.refuse(name, []diag.Diagnostic{{Pos: diag.Pos{Path: name}, Rule: "udc/file", Severity: diag.Error,
		Message: err.Error(), Hint: "name a file with a plan, or - for standard input"}})
}

// files asks for at least one file, each named once.
func files(env *cli.Env, usage string, args []string) error {
	if len(args) == 0 {
		return env.Usage(usage, "name at least one file")
	}
	return nil
}
