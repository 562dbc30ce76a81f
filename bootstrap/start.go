package bootstrap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/protocols/boot"
)

// target is what is to run: a commit in a branch's tree.
type target struct {
	branch string
	commit string
	code   string // names what of the commit can run
	note   string // for the log
	hop    *hop   // it is a signal's
	pinned bool   // it is not main's tip, and not a signal's
}

// run is how it went.
type run struct {
	booted   bool // SUCCESS was written
	ended    bool // by itself
	signaled bool // a signal ended it
	code     int  // as the shell writes it
	why      string
	notice   *notice // a guard ended it
	time     time.Duration
}

// next is what runs now: what a signal wants; else a pin while it holds; else
// main. It is nil when a signal turns out to lead nowhere.
func (w *watcher) next(ctx context.Context) (*target, error) {
	if h := w.state.Hop; h != nil {
		t, err := w.hopTarget(ctx, h)
		if err != nil && ctx.Err() == nil {
			w.fail(&target{branch: hopBranch(h), commit: boot.Unknown, hop: h}, h.Kind+" "+h.Name+": "+err.Error())
			return nil, nil
		}
		return t, err
	}
	commit, err := w.remote.commit(ctx, mainRef)
	if err != nil {
		return nil, err
	}
	if commit == "" {
		return nil, diag.Hint(fmt.Errorf("%s has no branch main", w.Bare), "`git ward init --bare DIR` makes its first commit")
	}
	code, err := w.remote.code(ctx, commit)
	if err != nil {
		return nil, err
	}
	if p := w.state.Pin; p != nil {
		if p.Main == code {
			pinned, err := w.remote.code(ctx, p.Commit)
			return &target{branch: boot.Main, commit: p.Commit, code: pinned, note: "pinned to " + p.Ref, pinned: true}, err
		}
		w.log.Info().Str("ref", p.Ref).Msg("main's code moved: the pin is gone")
		w.state.Pin = nil
		w.save()
	}
	return &target{branch: boot.Main, commit: commit, code: code}, nil
}

func hopBranch(h *hop) string {
	if h.Kind == bootstrap {
		return h.Name
	}
	return boot.Main
}

// maxAttempts is how often a hop is begun that the watcher itself does not
// survive.
const maxAttempts = 3

func (w *watcher) hopTarget(ctx context.Context, h *hop) (*target, error) {
	if h.Attempts++; h.Attempts > maxAttempts {
		return nil, fmt.Errorf("the watcher ended %d times while it prepared this", maxAttempts)
	}
	w.save()
	if _, err := w.folderOf(hopBranch(h)); err != nil {
		return nil, err
	}
	commit, err := w.remote.find(ctx, h)
	if err != nil {
		return nil, err
	}
	code, err := w.remote.code(ctx, commit)
	if err != nil {
		return nil, err
	}
	h.Commit = commit
	w.save()
	t := &target{branch: hopBranch(h), commit: commit, code: code, hop: h}
	if h.Kind == rollback {
		t.note = "rollback to " + h.Name
	}
	return t, nil
}

// boot takes a target to its end: tree, build, validate, start, run.
func (w *watcher) boot(ctx context.Context, t *target) run {
	w.rescued = nil
	began := time.Now()
	w.makeRoom(ctx, t)
	dir, command, err := w.ready(ctx, t)
	if err != nil {
		return run{why: err.Error(), code: 1, time: time.Since(began)}
	}
	if t.hop != nil {
		t.hop.Started = true
		w.save()
	}
	w.leaveOld(ctx, t)
	if w.state.Branch != t.branch {
		w.state.Branch = t.branch
		w.save()
	}
	w.journal.begin()
	w.report(boot.Bootstrapping, t.branch, t.commit, t.note)
	from := w.journal.size()
	out := &capture{log: w.errors, console: w.console}
	fmt.Fprintf(w.errors, "--- %s %s %s\n", utc(w.now).Format(time.RFC3339), t.branch, t.commit)
	p, err := w.start(w.command(dir, w.bootEnv(ctx, t), command...), strings.NewReader(""), out)
	if err != nil {
		return run{why: err.Error(), code: 1}
	}
	r := w.supervise(ctx, t, p, out, from)
	r.time = time.Since(began)
	return r
}

// ready makes the tree and what is built in it, and returns it with the command
// to run.
func (w *watcher) ready(ctx context.Context, t *target) (dir string, command []string, err error) {
	if dir, err = w.folderOf(t.branch); err != nil {
		return "", nil, err
	}
	c := w.commands(ctx)
	// After a failure nothing that lies there is trusted.
	built, ok := w.state.Built[t.branch]
	fresh := w.brief > 1 || len(c.build) > 0 && (!ok || built.Code != t.code)
	if fresh, err = w.checkout(ctx, dir, t.commit, built.Status, fresh); err != nil {
		return "", nil, err
	}
	if fresh {
		delete(w.state.Built, t.branch)
		w.save()
		if err := w.build(ctx, dir, c.build); err != nil {
			return "", nil, err
		}
		_, status, err := w.status(ctx, dir)
		if err != nil {
			return "", nil, err
		}
		w.state.Built[t.branch] = tree{t.code, status}
		w.save()
	}
	if t.hop != nil && t.hop.Kind == bootstrap && !w.validated(t.code) {
		if err := w.validate(ctx, dir, c.validate); err != nil {
			return "", nil, err
		}
		w.state.Valid = append(w.state.Valid, t.code)
		w.save()
	}
	if command = c.run; len(command) == 0 {
		command = []string{w.Agent}
	}
	command = append(append([]string{}, command...), w.repoArgs()...)
	if w.Model != "" {
		command = append(command, "--model", w.Model)
	}
	if w.Once {
		command = append(command, "--once")
	}
	if strings.Contains(command[0], "/") && !filepath.IsAbs(command[0]) {
		command[0] = filepath.Join(dir, command[0])
	}
	return dir, command, nil
}

func (w *watcher) bootEnv(ctx context.Context, t *target) []string {
	env := []string{boot.LogVar + "=" + w.bootLog(), boot.BranchVar + "=" + t.branch, boot.CommitVar + "=" + t.commit}
	if main, err := w.remote.commit(ctx, mainRef); err == nil && len(w.commands(ctx).run) > 0 {
		env = append(env, boot.MainVar+"="+main)
	}
	return env
}

// leaveOld removes the tree of a branch that was left for main. What it held and
// the remote does not have is kept first.
func (w *watcher) leaveOld(ctx context.Context, t *target) {
	old := w.state.Branch
	if t.branch != boot.Main || t.hop == nil || old == "" || old == boot.Main {
		return
	}
	dir, err := w.folderOf(old)
	if err != nil || !exists(dir) {
		return
	}
	_, status, err := w.status(ctx, dir)
	w.rescue(ctx, dir, err != nil || status != w.state.Built[old].Status)
	if err := w.remove(ctx, dir); err != nil {
		w.log.Error().Err(err).Msg("the old tree stays")
		return
	}
	delete(w.state.Built, old)
	for dir = filepath.Dir(dir); dir != w.State && !exists(filepath.Join(dir, ".git")); dir = filepath.Dir(dir) {
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 || w.remove(ctx, dir) != nil {
			break
		}
	}
	w.log.Info().Str("branch", old).Msg("the old tree is removed")
}
