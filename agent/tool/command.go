package tool

import (
	"context"
	"io"
	"os"
	"syscall"
	"time"

	"git-ward/internal/process"
)

// Grace is how long a command may tidy up after SIGTERM: with what it takes to see that
// the unit is paused, and to end what got away, silence comes within two seconds (WORK-3).
const Grace = time.Second

// callTag marks a command's processes in their environment, so that those that left the
// process group are found as well.
const callTag = "WARD_CALL="

// Command is a command line that is run to its end, together with all that it
// starts.
type Command struct {
	Args    []string
	Dir     string
	Env     []string  // the whole environment
	Stdin   *os.File  // nil: empty
	Tee     io.Writer // also gets stdout, and ends the command by an error; may be nil
	Heard   io.Writer // also gets all output, and must not fail; may be nil
	Timeout time.Duration

	Kind  string // prefix of its output file's name: kinds
	Logs  string // the directory of that file
	Size  int    // bytes of output kept in memory, half from its beginning, half from its end
	Limit int64  // bytes of output after which it is stopped
}

// Outcome is how a command ended and what it printed.
type Outcome struct {
	output  *capture
	status  process.Status
	stopped string // why the agent ended it, "" when it did not
}

// Log is the path of the file that has the output.
func (o *Outcome) Log() string { return o.output.path }

// Tail is the last lines of the output, size bytes at most of the half that is
// kept of its end; of a line that is longer than that, its end.
func (o *Outcome) Tail(size int) string { return o.output.lastLines(size) }

// Text is what is kept of the output, its beginning and its end; what is left out
// between them it says.
func (o *Outcome) Text() string { return o.output.text() }

// OK reports whether the command ended by itself with exit 0.
func (o *Outcome) OK() bool { return o.stopped == "" && o.status.OK() }

// killed is the exit code of a shell whose last command was killed, and of programs that pass
// on a killed child's end: plus the signal's number.
const killed = 128 + int(syscall.SIGKILL)

// Killed reports whether a signal ended the command, or what it ran for it, that was not the
// agent's.
func (o *Outcome) Killed() bool {
	return o.stopped == "" && (o.status.Killed() || o.status.Code() == killed)
}

// Missing reports whether the command ended as a shell does whose command is not there, or cannot be
// executed (POSIX, Shell & Utilities, 2.8.2).
func (o *Outcome) Missing() bool {
	code := o.status.Code()
	return o.stopped == "" && (code == 126 || code == 127)
}

// Trouble reports whether the command ended as grep, a parser of options or a shell does that is called
// wrongly or cannot work: with 2, where 1 is an answer (POSIX, grep, diff, test).
func (o *Outcome) Trouble() bool { return o.stopped == "" && o.status.Code() == 2 }

// End says how the command ended.
func (o *Outcome) End() string {
	if o.stopped != "" {
		return "stopped: " + o.stopped
	}
	if o.Killed() && !o.status.Killed() {
		return o.status.String() + ", for what it ran was killed"
	}
	return o.status.String()
}

// Run runs the command and returns when nothing of it is left (internal/process).
// A process that leaves both the group and its environment behind gets away, until the
// iteration's work has ended (process.EndStrays). The error is the context's, with an Outcome,
// or trouble, without one.
func (c *Command) Run(ctx context.Context) (*Outcome, error) {
	out, err := newCapture(c.Logs, c.Kind, c.Size)
	if err != nil {
		return nil, err
	}
	defer out.file.Close()
	cmd := process.Command{
		Args: c.Args, Dir: c.Dir, Env: c.Env, Stdout: out, Stderr: out, Tag: callTag + out.id,
		Timeout: c.Timeout, Output: c.Limit, Grace: Grace,
	}
	if c.Stdin != nil { // a nil *os.File is not a nil io.Reader
		cmd.Stdin = c.Stdin
	}
	if c.Heard != nil { // one writer, to keep both streams in order
		both := io.MultiWriter(out, c.Heard)
		cmd.Stdout, cmd.Stderr = both, both
	}
	if c.Tee != nil { // its own pipe, so that nothing interrupts its lines
		cmd.Stdout = io.MultiWriter(out, c.Tee)
	}
	o := &Outcome{output: out}
	var stopped error
	if o.status, stopped, err = cmd.Run(ctx); err != nil {
		return nil, err
	}
	if stopped != nil {
		o.stopped = stopped.Error()
		if ctx.Err() != nil {
			o.stopped = "the agent was stopped"
		}
	}
	return o, ctx.Err()
}
