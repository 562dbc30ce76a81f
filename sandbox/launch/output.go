package launch

import (
	"context"
	"io"

	"git-ward/internal/diag"
	"git-ward/internal/lines"
	"git-ward/internal/live"
	"git-ward/internal/logfile"
	"git-ward/protocols/boot"
	"git-ward/sandbox/lastgood"
)

// screen leads what a worker's agent prints to the launch's output. It is untrusted wherever
// it ends, in the launch log too, so it is cleaned (GATE-7). The watcher's lines about
// what became of a commit of main are taken out of it (BOOT-2), and what is told of the work as it
// goes on (SEE-1). What it returns passes on what waits still.
func (w *worker) screen(ctx context.Context) (end func()) {
	var shares []*logfile.Limited
	out := func(to io.Writer) io.Writer {
		if w.payload.Logged {
			known, _ := w.launch.shares.LoadOrStore(share{w.number, to}, AgentShare(to))
			limited := known.(*logfile.Limited)
			shares, to = append(shares, limited), limited
		}
		if w.launch.spec.agents() > 1 {
			to = lines.NewMarked(to, "", w.mark)
		}
		return diag.NewScreen(to)
	}
	p := &w.payload
	p.Stderr = out(w.launch.stderr)
	events := lines.NewTaker(out(w.launch.stdout), live.Prefix, live.MaxLine, w.ear.heard)
	book := lastgood.Book{Bare: w.launch.spec.Bare, Control: w.launch.spec.Settings.Control}
	p.Stdout = events
	for prefix, do := range map[string]func(context.Context, string) error{boot.Booted: book.Held, boot.FellBack: book.FellBack, boot.Again: book.Again,
		boot.Passed: func(ctx context.Context, commit string) error { return book.Passed(ctx, commit, w.only) }} {
		p.Stdout = lastgood.NewWriter(p.Stdout, prefix, func(commit string) error { return do(context.WithoutCancel(ctx), commit) })
	}
	return func() {
		for _, share := range shares {
			share.Flush()
		}
	}
}

// share names what the workers of one place write to one output.
type share struct {
	number int
	to     io.Writer
}

// mark is what begins a worker's lines where there are several: what it works on.
func (w *worker) mark() string { return LogMark(w.only) }

// LogMark is what begins a worker's lines in the launch log. Directive is the one whose lease the
// worker holds, "" for none.
func LogMark(directive string) string {
	if directive == "" {
		directive = "-"
	}
	return "[" + directive + "] "
}
