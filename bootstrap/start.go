package bootstrap

import (
	"context"
	"fmt"
	"strings"
	"time"

	"git-ward/bootstrap/notices"
	"git-ward/bootstrap/signals"
	"git-ward/bootstrap/supervisor"
	"git-ward/bootstrap/trees"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

// run is the result of a start.
type run struct {
	supervisor.End
	code int // the exit code, as a shell has it
}

// failed returns the result of a start in which no agent ran.
func failed(why error) run { return run{supervisor.End{Why: why.Error()}, 1} }

// start does all steps for a target: tree, build, validate, probation, start, and run until the end.
func (w *watcher) start(ctx context.Context, t *target) run {
	w.trees.Rescued()
	w.clearDisk(ctx, t)
	dir, err := w.prepare(ctx, t)
	if err != nil {
		return failed(err)
	}
	failpoint.Reach("bootstrap/prepared")
	if err := w.probation(ctx, t, dir); err != nil {
		return failed(err)
	}
	if old := w.state.Branch; t.branch == boot.Main && t.hop != nil && old != "" && old != boot.Main {
		w.trees.Leave(ctx, old)
	}
	if w.state.Branch != t.branch {
		w.state.Branch = t.branch
		w.state.save()
	}
	err = w.journal.Begin(t.branch, t.commit, t.note)
	w.logEvent(boot.Bootstrapping, t.branch, t.commit, t.note, err)
	failpoint.Reach("bootstrap/begun")
	if t.hop != nil {
		t.hop.Started = true
		w.state.save()
		failpoint.Reach("bootstrap/started")
	}
	fmt.Fprintf(w.errors, "--- %s %s %s\n", w.opts.Now().UTC().Format(time.RFC3339), t.branch, t.commit)
	end, err := w.supervisor.Watch(ctx, w.agent(ctx, t, dir))
	if err != nil {
		return failed(err)
	}
	w.log.Info().Str("branch", t.branch).Str("end", diag.Clean(end.Why)).Bool("booted", end.Booted).Bool("signal", end.Signaled).Msg("the agent ended")
	return run{end, end.Status.Code()}
}

// clearDisk makes room on a disk that the previous agent has filled.
func (w *watcher) clearDisk(ctx context.Context, t *target) {
	if w.trees.ClearDisk(ctx, w.trimLogs) {
		w.notices.Tell(guardNotice("disk", *t, fmt.Sprintf(
			"The agent filled its disk, so that nothing could be started. What it kept beside its trees is removed; %.0f %% of the disk are free.", 100*w.dir.Free())))
	}
}

// trimLogs removes large files in logs/ after their agent has ended.
func (w *watcher) trimLogs() {
	for _, path := range w.dir.TrimLogs(w.opts.Settings.Guard.Logs / 64) {
		w.log.Warn().Str("file", path).Msg("a large log is removed")
	}
}

// prepare makes the target's tree. It does not trust an existing tree after a second failure, or if the
// program must pass a probation: that is about a commit, and the agent may have changed the tree before.
func (w *watcher) prepare(ctx context.Context, t *target) (dir string, err error) {
	t.unproved = w.mustProve(ctx, t)
	return w.trees.Prepare(ctx, trees.Want{
		Branch: t.branch, Commit: t.commit, Code: t.code, Anew: w.restarts.short > 1 || t.unproved,
		Validate: t.hop != nil && t.hop.Kind == signals.Bootstrap,
	})
}

// agent returns the description of the agent to start from a target's tree.
func (w *watcher) agent(ctx context.Context, t *target, dir string) supervisor.Agent {
	g := w.opts.Settings.Guard
	own := w.trees.RunCommand(ctx, dir)
	return supervisor.Agent{
		Command:      supervisor.Command{Args: w.agentArgs(own), Dir: dir, Env: w.agentEnv(ctx, t)},
		Tee:          w.tee,
		Branch:       t.branch,
		Commit:       t.commit,
		StartTimeout: w.opts.Settings.Bootstrap.StartTimeout.Duration,
		OnBooted:     func() { w.booted(t) },
		Signaled:     w.signals.Waiting,
		Signals:      w.notify,
		Stale:        w.stale(ctx, t),
		Idle:         func() { w.notices.Deliver(ctx) },
		Limits:       supervisor.Limits{CPU: g.CPU, Window: g.CPUWindow.Duration, Memory: g.Memory, Logs: g.Logs},
		LogsSize:     w.dir.LogsSize,
	}
}

// stale returns a function that reports whether main's code has changed since this target was chosen over
// it, build included. The choice of a branch or of a rollback counts only until then. It returns nil for
// main's own program, which follows main by itself.
func (w *watcher) stale(ctx context.Context, t *target) func() bool {
	if t.hop == nil && !t.pinned || t.hop != nil && t.hop.Kind == signals.Bootstrap && t.branch == boot.Main && !t.pinned {
		return nil
	}
	watch, look := w.remote.Watch(w.remote.Main), true
	return func() bool {
		if look = watch.Moved() || look; !look {
			return false
		}
		moved, err := w.mainCode(ctx)
		if err != nil || moved == "" {
			return false // main is missing or being written, so there is nothing to start instead
		}
		look = false
		return moved != t.main
	}
}

// agentArgs returns the agent's command line: the tree's own command, or the agent that ships with Ward.
func (w *watcher) agentArgs(own []string) []string {
	args := append([]string{}, own...)
	if len(args) == 0 {
		args = []string{w.opts.Agent}
	}
	args = append(args, w.repoArgs()...)
	if w.opts.Model != "" {
		args = append(args, "--model", w.opts.Model)
	}
	if w.opts.Once {
		args = append(args, "--once")
	}
	if w.opts.Directive != "" { // the tree's own agent may not know this flag
		args = append(args, "--directive", w.opts.Directive)
	}
	return args
}

// agentEnv returns the variables that tell the agent what it was started from.
func (w *watcher) agentEnv(ctx context.Context, t *target) []string {
	env := []string{boot.LogVar + "=" + w.dir.BootLog(), boot.BranchVar + "=" + t.branch, boot.CommitVar + "=" + t.commit}
	if main, err := w.remote.Commit(ctx, w.remote.Main); err == nil && t.own {
		env = append(env, boot.MainVar+"="+main)
	}
	return env
}

// booted is called when the agent has answered that it is up.
func (w *watcher) booted(t *target) {
	failpoint.Reach("bootstrap/answered")
	w.logEvent(boot.Success, t.branch, t.commit, t.note, w.journal.Append(boot.Success, t.branch, t.commit, ""))
	failpoint.Reach("bootstrap/booted")
	if t.branch == boot.Main && !t.unproved {
		fmt.Fprintln(w.opts.Stdout, boot.Booted+t.commit)
	}
	if t.hop == nil {
		return
	}
	left := "It left nothing behind that the repository does not have."
	if rescued := w.trees.Rescued(); len(rescued) > 0 {
		left = "What it had and the repository had not is on " + strings.Join(rescued, ", ") + "."
	}
	w.arrived(t, left)
}

// arrived is called when the log has the success of a hop. left describes what became of the old tree's
// work.
func (w *watcher) arrived(t *target, left string) {
	w.tried(t.hop, -t.hop.Attempts)
	w.state.Hop = nil
	if t.hop.Counted {
		w.count(&w.state.Deaths, boot.Deaths, -boot.ADeath)
	}
	switch {
	case t.hop.Kind == signals.Rollback:
		w.pinTo(t.hop)
		// Each one: a PM may want to know of each.
		w.notices.Tell(notices.Notice{Status: comms.Rollback, Text: fmt.Sprintf("The agent went back to %s, commit %s, and runs from there until the code of %s moves. %s",
			w.called(t.hop.Name), diag.Short(t.commit), w.called(boot.Main), left)}) // with it all is saved
		return
	case t.branch == boot.Main && !t.pinned:
		w.unpin()
	}
	w.state.save()
}
