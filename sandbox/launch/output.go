package launch

import (
	"cmp"
	"context"
	"io"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/lines"
	"git-ward/internal/live"
	"git-ward/protocols/boot"
	"git-ward/sandbox/lastgood"
)

// screen filters a worker's output on its way to the launch's. The output is untrusted even in
// the launch log, so it is cleaned (GATE-7) and redacted by the gate's rules, line by line.
// The watcher's lines about commits of main (BOOT-2), signs of life and events of the work
// (SEE-1) are taken out and handled. The returned function flushes what is left.
func (w *worker) screen(ctx context.Context) (end func()) {
	var flush []func()
	out := func(to io.Writer) io.Writer {
		known, _ := w.launch.shares.LoadOrStore(place{w.number, to}, w.share(to))
		to = known.(*share).to
		if w.launch.spec.agents() > 1 {
			marked := lines.NewEach(to, func(line string) string { return LogMark(w.only) + line })
			flush, to = append(flush, func() { marked.Flush() }), marked
		}
		flush = append(flush, known.(*share).flush)
		return diag.NewScreen(to)
	}
	p := &w.payload
	p.Stderr = out(w.launch.stderr)
	events := lines.NewTaker(out(w.launch.stdout), live.Prefix, live.MaxLine, w.receiver.heard)
	book := w.launch.lastGood()
	p.Stdout = events
	held := func(ctx context.Context, commit string) error {
		if w.job != nil { // an answer is no work: the directive's progress decides whether the program stays
			w.job.Runs(commit)
		}
		return book.Held(ctx, commit)
	}
	for prefix, do := range map[string]func(context.Context, string) error{boot.Booted: held, boot.FellBack: book.FellBack, boot.Again: book.Again,
		boot.RolledBack: book.RolledBack, boot.Unpinned: book.Unpinned,
		boot.Passed: func(ctx context.Context, commit string) error { return book.Passed(ctx, commit, w.only) },
		boot.Counts: func(ctx context.Context, said string) error { return book.Counted(ctx, said, w.only) }} {
		p.Stdout = lastgood.NewWriter(p.Stdout, prefix, func(commit string) error { return do(context.WithoutCancel(ctx), commit) })
	}
	sign, _ := strings.CutSuffix(boot.Lives, "\n")
	p.Stdout = lines.NewTaker(p.Stdout, sign, len(boot.Lives), func([]byte) []byte {
		if w.job != nil && w.site.steady() {
			w.job.Lives()
		}
		return nil
	})
	if w.job != nil {
		p.Stdout, p.Stderr = w.job.Passes(p.Stdout), w.job.Passes(p.Stderr)
	}
	return func() {
		for _, flush := range flush {
			flush()
		}
	}
}

// place names the shared output of a slot's workers.
type place struct {
	number int
	to     io.Writer
}

// share is a slot's writer: with a quota if it writes to a log, and redacted after the quota,
// so that a flood is not searched.
type share struct {
	to    io.Writer
	flush func()
}

func (w *worker) share(out io.Writer) *share {
	redact := func(line string) string { return line }
	if w.launch.spec.Redact != nil {
		redact = w.launch.spec.Redact()
	}
	clean := lines.NewEach(out, redact)
	s := &share{clean, func() { clean.Flush() }}
	if w.payload.Logged {
		limited := AgentShare(clean)
		s = &share{limited, func() { limited.Flush(); clean.Flush() }}
	}
	return s
}

// LogMark begins a worker's lines in the launch log. Directive is the one whose lease the
// worker holds, "" for none.
func LogMark(directive string) string {
	return "[" + cmp.Or(directive, "-") + "] "
}
