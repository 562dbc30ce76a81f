package bootstrap

import (
	"context"
	"fmt"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// successEvery is how often the log is looked at for the agent's SUCCESS.
const successEvery = 20 * time.Millisecond

// askGrace is how long an agent that wrote a signal may take to end by itself.
const askGrace = 10 * time.Second

// supervise waits for the agent's end, or brings it about: when ctx ends, a
// signal waits, SUCCESS does not come in time, or a guard says so.
func (w *watcher) supervise(ctx context.Context, t *target, p *process, out *capture, from int64) (r run) {
	set := w.Settings.Bootstrap
	late := time.NewTimer(set.StartTimeout.Duration)
	defer late.Stop()
	success := time.NewTicker(successEvery)
	defer success.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	g := &guard{w: w, output: out}
	size := from
	looks := 0
	for {
		select {
		case <-p.exited:
			r.ended = true
			return w.finish(t, p, out, from, r)
		case <-ctx.Done():
			r.why = "the watcher was told to end"
			return w.finish(t, p, out, from, r)
		case <-late.C:
			if !r.booted {
				r.why = fmt.Sprintf("no SUCCESS within %s", set.StartTimeout.Duration)
				return w.finish(t, p, out, from, r)
			}
		case <-success.C:
			if now := w.journal.size(); now != size {
				if size = now; w.journal.succeeded(from, t.branch, t.commit) {
					r.booted = true
					success.Stop()
					w.booted(ctx, t)
				}
			}
			continue
		case <-w.inotify:
		case <-look.C:
			if looks++; looks%2 == 0 {
				reapOrphans(p.cmd.Process.Pid)
				r.notice = g.look()
			}
		}
		switch {
		case r.notice != nil:
			r.why = "ended by a guard: " + r.notice.Kind
			return w.finish(t, p, out, from, r)
		case w.signaled():
			r.signaled = true
			select {
			case <-p.exited:
			case <-ctx.Done():
			case <-time.After(askGrace):
			}
			return w.finish(t, p, out, from, r)
		}
	}
}

// finish ends the process and all of its, and sees how it went.
func (w *watcher) finish(t *target, p *process, out *capture, from int64, r run) run {
	status := p.end(w, !r.ended)
	r.code = status.ExitStatus()
	if status.Signaled() {
		r.code = 128 + int(status.Signal())
	}
	if r.why == "" {
		r.why = fmt.Sprintf("exit %d", r.code)
		if status.Signaled() {
			r.why = fmt.Sprintf("killed by signal %d, %s", status.Signal(), status.Signal())
		}
	}
	// An agent that was quick wrote its SUCCESS between two looks.
	if !r.booted && w.journal.succeeded(from, t.branch, t.commit) {
		r.booted = true
		w.booted(context.Background(), t)
	}
	if text := out.tail(); text != "" && !r.booted {
		r.why += ": " + text
	}
	if !r.signaled {
		r.signaled = w.signaled()
	}
	w.log.Info().Str("branch", t.branch).Str("end", diag.Clean(r.why)).Bool("booted", r.booted).Bool("signal", r.signaled).Msg("the agent ended")
	return r
}

// booted is what follows a SUCCESS.
func (w *watcher) booted(ctx context.Context, t *target) {
	w.log.Info().Str("branch", t.branch).Str("commit", t.commit).Str("reason", t.note).Msg(string(boot.Success))
	if t.branch == boot.Main {
		fmt.Fprintln(w.Stdout, boot.Booted+t.commit)
	}
	if t.hop == nil {
		return
	}
	if t.hop.Kind == rollback {
		w.pinTo(ctx, t.hop)
		w.tellRollback(t)
	} else if t.branch == boot.Main {
		w.state.Pin = nil
	}
	w.state.Hop = nil
	w.save()
}

// pinTo holds main's tree where a rollback took it.
func (w *watcher) pinTo(ctx context.Context, h *hop) {
	main, err := w.remote.commit(ctx, mainRef)
	code := ""
	if err == nil && main != "" {
		code, err = w.remote.code(ctx, main)
	}
	if err != nil {
		w.log.Error().Err(err).Msg("the rollback is not pinned")
		return
	}
	w.state.Pin = &pin{Ref: h.Name, Commit: h.Commit, Main: code}
}

func (w *watcher) tellRollback(t *target) {
	text := fmt.Sprintf("The agent went back to %s, commit %s, and runs from there until the code of main moves.", t.hop.Name, diag.Short(t.commit))
	if len(w.rescued) > 0 {
		text += " What it had and the repository had not is on " + strings.Join(w.rescued, ", ") + "."
	} else {
		text += " It left nothing behind that the repository does not have."
	}
	w.tell(notice{Status: "ROLLBACK", Text: text})
}
