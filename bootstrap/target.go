package bootstrap

import (
	"context"
	"fmt"

	"git-ward/bootstrap/signals"
	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// target is the commit to run, in a branch's tree.
type target struct {
	branch string
	commit string
	code   string // identifies the runnable part of the commit (remote.Code)
	main   string // main's code when the target was chosen, if it is not main's tip
	note   string // for the log
	hop    *hop   // the signal that chose it; nil for none
	pinned bool   // a pin (of a rollback, or a fallback) chose it instead of main's tip
	own    bool   // its program comes from the tree

	unproved bool // its program has yet to pass a probation
}

// next returns the target to run now: that of a signal, else a valid pin, else main. It is nil if a signal's
// target does not exist.
func (w *watcher) next(ctx context.Context) (*target, error) {
	if h := w.state.Hop; h != nil {
		t, err := w.hopTarget(ctx, h)
		if err != nil && ctx.Err() == nil {
			w.fail(&target{branch: h.branch(), commit: boot.Unknown, hop: h}, fmt.Sprintf("%s: %v", h.Signal, err))
			return nil, nil
		}
		return t, err
	}
	commit, err := w.there(ctx, w.remote.Main, "project")
	if err == nil {
		_, err = w.there(ctx, w.remote.Control, "branch")
	}
	if err != nil {
		return nil, err
	}
	code, err := w.remote.Code(ctx, commit)
	if err != nil {
		return nil, err
	}
	w.takePin(ctx, code)
	if p := w.state.Pin; p != nil {
		if p.Main == code {
			pinned, err := w.remote.Code(ctx, p.Commit)
			return &target{branch: boot.Main, commit: p.Commit, code: pinned, main: code, note: "pinned to " + p.Ref, pinned: true}, err
		}
		w.log.Info().Str("ref", p.Ref).Msg("main's code moved: the pin is gone")
		w.state.Pin = nil
		w.state.save()
	}
	t := &target{branch: boot.Main, commit: commit, code: code}
	return t, w.instead(ctx, t)
}

// instead replaces main's own program by an earlier one if it failed: here, in another slot, or in an earlier
// container.
func (w *watcher) instead(ctx context.Context, t *target) (err error) {
	good := ""
	if p := w.state.Pin; p != nil && p.Fallback && p.Main == t.code {
		good = p.Commit
	} else if commit, fallen := w.gaveWay(ctx); fallen == t.code {
		if good = w.earlier(ctx, t.code); good != "" && !w.notices.Told(mainKind) {
			w.tellFallBack(t, "gave way from "+w.called(boot.Main)+", commit "+diag.Short(commit)+": it answers, but no directive makes progress with it, or it ends again and again", commit, good)
		}
	}
	if good != "" {
		t.commit, t.main, t.note, t.pinned = good, t.code, "the program of main gave way", true
		t.code, err = w.remote.Code(ctx, good)
	}
	return err
}

// there returns the commit of a branch in the settings. It is an error, which names the branch, if the branch
// does not exist: both the project's branch and the control branch are required.
func (w *watcher) there(ctx context.Context, ref, key string) (string, error) {
	commit, err := w.remote.Commit(ctx, ref)
	if err == nil && commit == "" {
		err = diag.Hint(fmt.Errorf("%s has no branch %s, which [control] %s names", w.opts.Bare, ref, key), "`git ward init --bare DIR` makes what is missing")
	}
	return commit, err
}

// called returns the name of a branch or ref for people; boot.Main becomes the project's branch.
func (w *watcher) called(name string) string {
	if name == boot.Main {
		return w.opts.Settings.Control.Project
	}
	return name
}

// branch returns the branch whose tree a signal uses.
func (h *hop) branch() string {
	if h.Kind == signals.Bootstrap {
		return h.Name
	}
	return boot.Main
}

// maxAttempts bounds the starts of a hop during which the watcher itself dies.
const maxAttempts = 3

// tries counts an attempt at a hop. It includes the attempts that the host counted in earlier containers, so
// that new containers cannot repeat a hop for ever.
func (w *watcher) tries(ctx context.Context, h *hop, t *target) error {
	if h.Attempts == 0 {
		var before deaths
		w.takeCount(ctx, &before, boot.Hops, t)
		h.Attempts = before.Count
	}
	w.tried(h, 1)
	w.state.save()
	if h.Attempts > maxAttempts {
		return fmt.Errorf("the watcher ended %d times while it prepared this", maxAttempts)
	}
	return nil
}

// tried changes the number of a hop's attempts.
func (w *watcher) tried(h *hop, by int) {
	d := deaths{Commit: h.Commit, Count: h.Attempts}
	w.count(&d, boot.Hops, by)
	h.Attempts = d.Count
}

func (w *watcher) hopTarget(ctx context.Context, h *hop) (*target, error) {
	if _, err := w.trees.Of(h.branch()); err != nil {
		return nil, err
	}
	t := &target{branch: h.branch(), hop: h}
	if h.Kind == signals.Rollback {
		t.note = "rollback to " + h.Name
	}
	var err error
	if t.commit, err = w.find(ctx, h); err != nil {
		return nil, err
	}
	h.Commit = t.commit
	if t.code, err = w.remote.Code(ctx, t.commit); err != nil {
		return nil, err
	}
	if err := w.tries(ctx, h, t); err != nil {
		return nil, err
	}
	if h.Main == "" { // a restarted watcher must not set it again: main may have moved since
		if h.From, err = w.remote.Commit(ctx, w.remote.Main); err == nil && h.From != "" {
			h.Main, err = w.remote.Code(ctx, h.From)
		}
		if err != nil {
			return nil, err
		}
	}
	if h.Kind == signals.Bootstrap && t.branch == boot.Main {
		if err := w.instead(ctx, t); err != nil {
			return nil, err
		}
	}
	w.state.save()
	t.main = h.Main
	return t, nil
}

// find returns the commit that a signal's name has at present.
func (w *watcher) find(ctx context.Context, h *hop) (string, error) {
	if h.Kind == signals.Rollback {
		return w.remote.Revision(ctx, h.Name)
	}
	return w.remote.Branch(ctx, h.Name)
}

// mainCode returns main's code, "" if there is no main.
func (w *watcher) mainCode(ctx context.Context) (string, error) {
	main, err := w.remote.Commit(ctx, w.remote.Main)
	if err != nil || main == "" {
		return "", err
	}
	return w.remote.Code(ctx, main)
}
