package bootstrap

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"git-ward/bootstrap/signals"
	"git-ward/bootstrap/supervisor"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/failpoint"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
	"git-ward/protocols/comms"
)

const (
	// madeUp is the number of directives in a probation: enough to find a program that fails
	// every second one.
	madeUp = 3
	// maxProved bounds the list of programs that passed.
	maxProved = 20
	// trialDir is where a probation is, below the state directory.
	trialDir = ".probation"
	// trialTime bounds what the watcher does there.
	trialTime = time.Minute
	// maxMadeUp bounds, in bytes, what it reads there.
	maxMadeUp = 1 << 20
)

// mustProve reports whether a program must pass a probation: one from the tree that has not passed one. For
// the targets of rollbacks and fallbacks, probation does nothing.
func (w *watcher) mustProve(ctx context.Context, t *target) bool {
	if t.own = len(w.trees.RunCommand(ctx, "")) > 0; !t.own || !w.opts.Settings.Bootstrap.Probation || slices.Contains(w.state.Proved, t.code) {
		return false
	}
	// The host knows which program this directive's worker has passed in another container.
	passed, err := w.remote.Commit(ctx, boot.PassedRef(w.opts.Directive))
	if err == nil && passed != "" {
		if code, err := w.remote.Code(ctx, passed); err == nil && code == t.code {
			return false
		}
	}
	return w.held(ctx, func(code string) bool { return code == t.code }) == ""
}

// probation lets a new program work through made-up directives in a repository of their own,
// because its answer that it is up proves nothing. If main's program fails and there is no earlier one,
// it runs nevertheless.
func (w *watcher) probation(ctx context.Context, t *target, dir string) error {
	if t.pinned || t.hop != nil && t.hop.Kind == signals.Rollback {
		return nil
	}
	if !t.unproved {
		w.tellPassed(ctx, t)
		return nil
	}
	alone := t.branch == boot.Main && w.earlier(ctx, t.code) == ""
	if alone && w.state.Unproved == t.code {
		return nil
	}
	err := w.attempt(ctx, t, dir)
	switch {
	case err == nil:
		t.unproved = false
		w.state.Proved = remember(w.state.Proved, t.code, maxProved)
		w.state.save()
		w.tellPassed(ctx, t)
	case ctx.Err() == nil && alone:
		w.state.Unproved = t.code
		w.notices.Tell(guardNotice("probation", *t, fmt.Sprintf(
			"The program of %s, commit %s, has not passed its probation: %s. No earlier one is known to hold, so it runs; logs/errors.log says more.",
			w.called(t.branch), diag.Short(t.commit), diag.Clean(err.Error())))) // with it all is saved
		return nil
	}
	return err
}

// maxTold bounds the wait for the host's confirmation.
const maxTold = 10 * time.Second

// tellPassed tells the host that a branch's program passed, because otherwise the branch is not merged
// (HOOK-4). If the agent uses the host's door, it waits for the host's confirmation before the start.
func (w *watcher) tellPassed(ctx context.Context, t *target) {
	if t.branch == boot.Main || !t.own || !w.opts.Settings.Bootstrap.Probation {
		return
	}
	watch := w.remote.Watch(boot.PassedPrefix)
	fmt.Fprintln(w.opts.Stdout, boot.Passed+t.commit)
	if w.opts.Door == "" {
		return
	}
	until := time.Now().Add(maxTold)
	for moved := true; moved; {
		if known, err := w.remote.Passed(ctx, t.commit); err == nil && known {
			return
		}
		moved, _ = watch.Wait(ctx, supervisor.LookEvery/10, until, nil)
	}
	w.log.Warn().Str("commit", t.commit).Msg("the host has not written down that this program passed its probation")
}

// attempt runs a probation. A program has failed if the watcher died repeatedly during its probation.
func (w *watcher) attempt(ctx context.Context, t *target, dir string) error {
	d := &w.state.Trial
	w.takeCount(ctx, d, boot.Trials, t)
	if w.count(d, boot.Trials, 1); d.Count > maxAttempts {
		w.count(d, boot.Trials, -d.Count)
		*d = deaths{}
		return fmt.Errorf("probation: the watcher ended %d times while it ran", maxAttempts)
	}
	w.state.save()
	failpoint.Reach("bootstrap/trial")
	err := w.trial(ctx, t, dir)
	if ctx.Err() != nil {
		w.count(d, boot.Trials, -1) // not the program's fault
		w.state.save()
		return ctx.Err()
	}
	w.count(d, boot.Trials, -d.Count)
	*d = deaths{}
	w.state.save()
	if err != nil {
		return fmt.Errorf("probation: %w", err)
	}
	return nil
}

// trial makes the repository, runs the program until no directive is open, and checks the
// result of each.
func (w *watcher) trial(ctx context.Context, t *target, dir string) error {
	place := filepath.Join(w.opts.State, trialDir)
	words, err := w.makeUp(ctx, place)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.errors, "--- %s probation of %s %s\n", w.opts.Now().UTC().Format(time.RFC3339), t.branch, t.commit)
	limit := w.opts.Settings.Bootstrap.ProbationTimeout.Duration
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	end, err := w.supervisor.Watch(within, w.candidate(ctx, t, dir, place))
	switch {
	case err != nil:
		return err
	case within.Err() != nil:
		return fmt.Errorf("%d made-up directives took longer than [bootstrap] probation_timeout, %s", len(words), limit)
	case !end.Booted, !end.Status.OK(), end.Excess != nil:
		return errors.New(end.Why)
	}
	for i, word := range words {
		if err := w.workedThrough(ctx, place, i+1, word); err != nil {
			return err
		}
	}
	if err := w.trees.Remove(ctx, place); err != nil {
		w.log.Warn().Err(err).Msg("a probation is left; the next one removes it")
	}
	return nil
}

// candidate returns the program to start in its probation: as for any agent on main, but with a repository
// that it can write to, a model that needs no provider, and no lease.
func (w *watcher) candidate(ctx context.Context, t *target, dir, place string) supervisor.Agent {
	a := w.agent(ctx, t, dir)
	a.Command.Args = append(w.trees.RunCommand(ctx, dir), "--bare", filepath.Join(place, "remote.git"), "--state", filepath.Join(place, "state"),
		"--config", filepath.Join(place, "config.toml"), "--model", "script", "--once")
	a.Command.Env = []string{boot.LogVar + "=" + w.dir.BootLog(), boot.BranchVar + "=" + boot.Main, boot.CommitVar + "=" + t.commit, boot.LeaseVar + "=", boot.LiveVar + "="}
	a.Branch, a.OnBooted, a.Stale, a.Signals = boot.Main, func() {}, nil, nil
	a.Signaled = func() bool { return false }
	return a
}

// makeUp makes the repository of a probation: the real one's files with other directives, and
// without any .gitignore, which could keep the results out of a commit. Each directive asks
// for a word that no other text contains.
func (w *watcher) makeUp(ctx context.Context, place string) (words []string, err error) {
	control, err := w.remote.Commit(ctx, w.remote.Control)
	if err != nil {
		return nil, err
	}
	main, err := w.remote.Commit(ctx, w.remote.Main)
	if err != nil {
		return nil, err
	}
	var script strings.Builder
	doc := []byte(comms.Empty)
	for n := range madeUp {
		word := strings.ToLower(rand.Text())
		words = append(words, word)
		amended, bad := comms.Amend(doc, comms.Addition{Draft: comms.Draft{ID: n + 1, Title: "a probation", Body: fmt.Sprintf(
			"A program that is to become the agent works through this first. Write the word `%s` into %s.\n\n- [ ] it is there (`grep -qx %[1]s %[2]s`)", word, madeUpFile(n+1))}}, comms.Whole)
		doc = amended.Data
		err = errors.Join(err, bad, json.MarshalWrite(&script, map[string]any{
			"directive": fmt.Sprintf("D-%d", n+1),
			"calls":     []any{map[string]any{"name": "write_file", "args": map[string]any{"path": madeUpFile(n + 1), "content": word + "\n"}}},
		}))
		script.WriteString("\n")
	}
	if err != nil {
		return nil, err
	}
	script.WriteString(`{"text":"The word is written."}` + "\n")
	if err := w.trees.Remove(ctx, place); err != nil { // left by a killed watcher
		return nil, err
	}
	settings := *w.opts.Settings
	settings.Agent.Loop = false // there are no verdicts in a probation
	return words, w.script(ctx, []string{place, w.opts.Bare, w.remote.Main, main, w.remote.Control, control, string(doc), script.String(), string(settings.Copy(config.Inside))}, `
		mkdir -- "$1"
		cd -- "$1"
		printf %s "$9" >config.toml
		git init --quiet --bare --template= --initial-branch="${3#refs/heads/}" remote.git
		mkdir -p remote.git/objects/info
		printf '%s\n' "$2/objects" >remote.git/objects/info/alternates
		export GIT_DIR="$1/remote.git" GIT_INDEX_FILE="$1/index"
		export GIT_AUTHOR_NAME=Ward GIT_AUTHOR_EMAIL=ward@localhost GIT_COMMITTER_NAME=Ward GIT_COMMITTER_EMAIL=ward@localhost
		admit() { git ls-files -z --format='0 %(objectname)%x09%(path)' -- ':(glob)**/.gitignore' 'probation-*.txt' 'probation-*.txt/*' | git update-index -z --index-info; }
		git read-tree "$4"
		admit
		git update-ref "$3" "$(git commit-tree -p "$4" -m 'main of a probation' "$(git write-tree)")"
		git read-tree "$6"
		admit
		git update-index --add --cacheinfo "100644,$(printf %s "$7" | git hash-object -w --stdin),COMMS.md"
		git update-index --add --cacheinfo "100644,$(printf %s "$8" | git hash-object -w --stdin),script.jsonl"
		git update-ref "$5" "$(git commit-tree -p "$6" -m 'directives of a probation' "$(git write-tree)")"`)
}

// madeUpFile is the file that directive n asks for.
func madeUpFile(n int) string { return fmt.Sprintf("probation-%d.txt", n) }

// workedThrough returns an error if the work or the report of a made-up directive is missing.
func (w *watcher) workedThrough(ctx context.Context, place string, n int, word string) error {
	var work, doc bytes.Buffer
	name := fmt.Sprintf("D-%d", n)
	if err := w.showTrial(ctx, place, &work, "refs/heads/agent/"+name+":"+madeUpFile(n)); err != nil || work.String() != word+"\n" {
		return fmt.Errorf("the branch agent/%s does not have what the made-up directive %[1]s wants in %s", name, madeUpFile(n))
	}
	if err := w.showTrial(ctx, place, &doc, w.remote.Control+":"+comms.Path); err != nil {
		return err
	}
	said, _ := comms.Parse(doc.Bytes())
	if !slices.ContainsFunc(said.Reports, func(r comms.Report) bool { return r.Directive == name }) {
		return fmt.Errorf("there is no report on the made-up directive %s", name)
	}
	return nil
}

// showTrial reads a blob of a probation's repository, with the program's rights, because the
// program owns it.
func (w *watcher) showTrial(ctx context.Context, place string, out io.Writer, rev string) error {
	return w.trialRun(ctx, place, out, git.Line("--git-dir=remote.git", "cat-file", "blob", rev)...)
}

// script runs a shell script with the agent's rights in the state directory.
func (w *watcher) script(ctx context.Context, args []string, text string) error {
	var out supervisor.Tail
	err := w.trialRun(ctx, w.opts.State, &out, append([]string{"sh", "-ec", text, "sh"}, args...)...)
	if err != nil {
		err = fmt.Errorf("its repository cannot be made: %w: %s", err, out.LastLines())
	}
	return err
}

func (w *watcher) trialRun(ctx context.Context, dir string, out io.Writer, args ...string) error {
	return w.supervisor.Run(ctx, supervisor.Command{Dir: dir, Env: w.trees.GitEnv(), Time: trialTime, Output: out, Limit: maxMadeUp, Args: args})
}
