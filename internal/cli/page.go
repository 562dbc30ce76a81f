package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Style is the role of a text; git's settings give each role its colour (git-config(1),
// color.diff.<slot>).
type Style string

// The styles. Plain text has no colour.
const (
	Plain Style = ""
	Bold  Style = "\x1b[1m"
	Good  Style = "\x1b[32m" // met; an added line
	Bad   Style = "\x1b[31m" // not met; a deleted line
	Frag  Style = "\x1b[36m" // where a part of a difference stands
	Note  Style = "\x1b[33m" // an object id; what is to be looked at
)

// Page is output that may be longer than a screen. At a terminal it goes to the person's
// pager, coloured where git would use colour; elsewhere it is plain. Everything printed is
// cleaned (GATE-7).
type Page struct {
	out    *bufio.Writer
	screen *diag.Screen
	colour bool
	end    func() error // waits for the pager
	err    error        // the first that writing met
}

// Page opens the output. Close it.
func (e *Env) Page(ctx context.Context) (*Page, error) {
	under := Raw(e.Stdout)
	terminal := e.Stdout != under && Bytes(e.Stdout) == e.Stdout
	person := git.AsPerson(e.Dir, os.Environ())
	p := &Page{end: func() error { return nil }}
	inUse := e.Getenv("GIT_PAGER_IN_USE") == "true" // of git -p
	pager := ""
	var err error
	if terminal && !inUse {
		if pager, err = person.Pager(ctx); err != nil {
			return nil, err
		}
	}
	if p.colour, err = person.Coloured(ctx, terminal || inUse, pager != "" || inUse); err != nil {
		return nil, err
	}
	if pager != "" {
		if under, p.end, err = startPager(pager, under); err != nil {
			return nil, err
		}
	}
	p.out = bufio.NewWriterSize(under, 64<<10)
	p.screen = diag.NewScreen(p.out)
	return p, nil
}

// startPager starts a pager as git does, by a shell and with git's own settings for less and
// lv. It ignores ^C, which the reader types to the pager.
func startPager(line string, screen io.Writer) (in io.Writer, end func() error, err error) {
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Stdout, cmd.Stderr = screen, os.Stderr
	cmd.Env = append(os.Environ(), "GIT_PAGER_IN_USE=true")
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if _, set := os.LookupEnv(name); !set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("the pager %q does not start: %w", line, err)
	}
	return pipe, func() error {
		pipe.Close()
		cmd.Wait() // its exit code concerns only its reader
		return nil
	}, nil
}

// Print writes text, each of its lines in the style. An error is the writer's, and later
// ones are the same: whoever makes much of it stops there.
func (p *Page) Print(s Style, text string) error {
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		p.put(s, body)
		if ended {
			p.raw("\n")
		}
	}
	return p.err
}

// Printf is Print of a format.
func (p *Page) Printf(s Style, format string, args ...any) error {
	return p.Print(s, fmt.Sprintf(format, args...))
}

// Write writes plain text; it makes a Page the writer of a table or of JSON.
func (p *Page) Write(b []byte) (int, error) {
	if err := p.Print(Plain, string(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *Page) put(s Style, text string) {
	if p.colour && s != Plain && text != "" {
		p.raw(string(s))
		defer p.raw("\x1b[m")
	}
	if p.err == nil {
		_, p.err = io.WriteString(p.screen, text)
	}
}

// raw writes Ward's own bytes, without cleaning.
func (p *Page) raw(text string) {
	if p.err == nil {
		p.err = p.screen.Flush()
	}
	if p.err == nil {
		_, p.err = p.out.WriteString(text)
	}
}

// Close writes the rest and waits for the pager. A reader who left early is no error.
func (p *Page) Close() error {
	p.raw("")
	if p.err == nil {
		p.err = p.out.Flush()
	}
	err := errors.Join(p.err, p.end())
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
