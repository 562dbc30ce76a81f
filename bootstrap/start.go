package bootstrap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/cli"
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

// exit is the watcher's own end for a run's.
func (r run) exit() error {
	if r.code == 0 {
		return nil
	}
	return cli.ExitCode(r.code)
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
		return nil, cli.Hint(fmt.Errorf("%s has no branch main", w.Bare), "`git ward init --bare DIR` makes its first commit")
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
		fmt.Fprintln(w.Stdout, Booted+t.commit)
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

// judge draws the conclusions of a run.
func (w *watcher) judge(ctx context.Context, t *target, r run) {
	if ctx.Err() != nil && !r.booted { // it was not the target's fault
		if _, open := w.journal.unfinished(); open {
			w.report(boot.Failure, t.branch, t.commit, "the watcher was told to end")
		}
		if h := w.state.Hop; h != nil && !h.Started {
			h.Attempts--
			w.save()
		}
		return
	}
	if r.notice != nil {
		r.notice.Branch, r.notice.Code = t.branch, t.code
		w.tell(*r.notice)
		w.trimLogs()
	}
	steady := w.Settings.Bootstrap.Check.Duration
	switch {
	case r.time >= steady && r.booted:
		w.brief = 0
		if r.notice == nil && len(w.state.Told) > 0 {
			clear(w.state.Told)
			w.save()
		}
	case r.signaled && r.booted:
	case t.hop == nil:
		w.brief++
	}
	if !r.booted {
		w.fail(t, r.why)
	}
	w.countStarts(t)
	w.spare.hold()
}

// fail is the end of a start that came to nothing: after a signal main is next,
// and after main the last commit of main that started.
func (w *watcher) fail(t *target, why string) {
	w.report(boot.Failure, t.branch, t.commit, why)
	delete(w.state.Built, t.branch)
	if t.hop != nil {
		w.state.Hop = nil
		w.tell(notice{Status: "FALLBACK", Kind: "start " + t.hop.Name, Code: t.code, Branch: t.branch,
			Text: fmt.Sprintf("The agent could not be started from %s, commit %s: %s. It runs from main; logs/errors.log and logs/build.log say more.",
				t.hop.Name, diag.Short(t.commit), diag.Clean(why))})
		w.save()
		if t.branch != boot.Main || t.hop.Kind == rollback {
			return
		}
	}
	if t.pinned { // try main again; what kept it from starting may be gone
		w.state.Pin = nil
		w.save()
		return
	}
	ctx := context.Background()
	good, err := w.remote.commit(ctx, lastGoodRef)
	if err != nil || good == "" {
		return
	}
	code, err := w.remote.code(ctx, good)
	if err != nil || code == t.code {
		return
	}
	w.state.Pin = &pin{Ref: "last-good", Commit: good, Main: t.code, Fallback: true}
	w.tell(notice{Status: "FALLBACK", Kind: "main", Code: t.code, Text: fmt.Sprintf("The agent does not start from main, commit %s: %s. It runs from the last commit that started, %s, until the code of main moves.",
		diag.Short(t.commit), diag.Clean(why), diag.Short(good))})
	w.save()
}

// countStarts tells the PM of an agent that is started again and again.
func (w *watcher) countStarts(t *target) {
	now := time.Now()
	w.starts = append(w.starts, now)
	for len(w.starts) > 0 && now.Sub(w.starts[0]) > time.Hour {
		w.starts = w.starts[1:]
	}
	if n := w.Settings.Guard.Restarts; len(w.starts) > n {
		w.starts = w.starts[len(w.starts)-n-1:]
		w.tell(notice{Status: "GUARD", Kind: "restarts", Code: t.code, Branch: t.branch, Text: fmt.Sprintf(
			"The agent was started more than %d times within an hour ([guard] restarts). It is started again, at most every %s; logs/errors.log says why it ends.", n, w.Settings.Bootstrap.Check.Duration)})
	}
}
