package program

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/agent/activity"
	"git-ward/agent/gateway"
	"git-ward/agent/interaction"
	"git-ward/agent/model"
	"git-ward/agent/preset"
	"git-ward/agent/stop"
	"git-ward/agent/task"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
	"git-ward/internal/process"
	"git-ward/protocols/loop"
)

// settleTime is how long an attempt's end may take after its context has ended.
const settleTime = 10 * time.Second

// attempt is one run of a command.
type attempt struct {
	program  *Program
	activity *activity.Log
	began    time.Time
	before   gateway.Account
	earlier  interaction.Done // of attempts with other models
	from     string           // the commit that was checked out, "" for none

	watch   *watch
	steps   *steps
	reading *preset.Reading // nil for an unknown stream format
	outcome *tool.Outcome
	over    error // why it was ended before its time, nil where it was not
	away    bool  // the model is, so that another may do what this one cannot now
	took    time.Duration
}

// run runs the command with the prompt, or nothing, as stdin. A failed or ended command is no
// error.
func (a *attempt) run(parent context.Context, prompt string) error {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	p := a.program
	a.watch = &watch{program: p, activity: a.activity, end: end, ctx: ctx, transcript: interaction.Transcript{Redact: p.Redact, Live: p.Live}}
	quiet, err := p.listen(ctx, end)
	if err != nil {
		return err
	}
	defer quiet()
	counted := a.countSteps(ctx, end)
	defer counted()
	p.Live.Begins(p.name())
	inv, err := p.invocation(prompt, a.watch)
	if err != nil {
		return err
	}
	a.reading = inv.reading
	cmd := tool.Command{
		Args: inv.args, Dir: p.Dir, Env: inv.env, Tee: inv.tee, Heard: inv.heard, Timeout: p.Config.Model.Timeout.Duration,
		Kind: "exec", Logs: filepath.Join(p.State, "logs"), Size: loop.MaxTranscript, Limit: maxOutput,
	}
	if p.Preset != nil || p.Config.Model.Prompt != "file" {
		stdin, err := os.Open(prompt)
		if err != nil {
			return err
		}
		defer stdin.Close()
		cmd.Stdin = stdin
	}
	p.Log.Info().Str("command", diag.Clean(cmd.Args[0])).Dur("timeout_ms", cmd.Timeout).Msg("the command begins")
	a.outcome, err = cmd.Run(ctx)
	a.took = time.Since(a.began)
	a.watch.close()
	counted()
	if a.outcome == nil {
		if process.Missing(err) {
			return stop.New(stop.Missing, "[model] command: %s.", diag.Clean(err.Error()))
		}
		return err
	}
	if ctx.Err() != nil {
		a.over = cmp.Or(context.Cause(ctx), ctx.Err())
	}
	event := p.Log.Info()
	if !a.outcome.OK() {
		event = p.Log.Warn()
	}
	event.Str("end", a.outcome.End()).Dur("ms", a.took).Str("output", a.outcome.Log()).Msg("the command ended")
	return nil
}

// countSteps checks each step of plans that the command runs against the iteration's limits.
// The returned function counts the rest and stops.
func (a *attempt) countSteps(ctx context.Context, end context.CancelCauseFunc) (counted func()) {
	p := a.program
	a.steps = newSteps(p.Dir, func(tool string) {
		if err := p.Gate.Seen(ctx, tool); err != nil {
			end(err)
		}
	})
	following, enough := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.steps.follow(following)
	}()
	return func() {
		enough()
		<-done
	}
}

// end is the attempt's result, with its post-mortem written.
func (a *attempt) end(ctx context.Context) (interaction.Done, error) {
	// The reason that stopped the command does not stop the post-mortem.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	done := plus(a.earlier, interaction.Done{Words: a.words(), Tally: a.tally(), Transcript: a.transcript()})
	if a.from != "" && a.program.head(ctx) == "" { // there is nothing to commit or push then
		return done, fmt.Errorf("%s left no repository behind: its .git is gone or broken", a.program.name())
	}
	a.bringHome(ctx)
	changes := a.changes(ctx)
	err := a.verdict(ctx, done, len(changes))
	if !task.Closes(err) {
		return done, err
	}
	a.postMortem(ctx, done, changes, err)
	if err == nil {
		done.Words += a.counted(done.Tally)
	}
	return done, err
}

// refused is the gateway's account, by codes, of why the command's calls failed: its unit may
// not be worked on, or the provider fails (WORK-3, WORK-4). The command's own account is not
// relied on. failed is nil if it ended well.
func (a *attempt) refused(account gateway.Account, failed *stop.Stop) error {
	if account.HeldSince(a.before) {
		return stop.New(stop.Suspended, "the unit is not to be worked on now")
	}
	if model := account.UnlistedSince(a.before); model != "" && failed != nil {
		return stop.New(stop.Denied, "%s asks for the model %s, which the host's settings do not name: the admin adds it to [model] also, or names another in [model] id.",
			a.program.name(), diag.Clean(model))
	}
	code := account.OutageSince(a.before, failed == nil)
	if code == "" {
		return nil
	}
	if a.away = gateway.Away(code); code == gateway.Absent {
		return stop.New(stop.Denied, "The model's provider does not have the model that %s asks for (%s): the admin names another in [model] id.", a.program.name(), code)
	}
	if gateway.Denies(code) {
		return stop.New(stop.Denied, "The model's provider refuses the calls of %s (%s).", diag.Clean(filepath.Base(a.program.Config.Model.Name)), diag.Clean(code))
	}
	why := fmt.Sprintf("The model did not answer the calls of %s (%s).", diag.Clean(filepath.Base(a.program.Config.Model.Name)), diag.Clean(code))
	if failed != nil {
		why += " " + failed.Why
	}
	return stop.New(stop.Outage, "%s", why)
}

// verdict is nil if the command finished by itself, else the reason.
func (a *attempt) verdict(ctx context.Context, done interaction.Done, changes int) error {
	if over := stop.Of(a.over); over != nil {
		return over
	}
	if question := a.program.question(); question != "" {
		return stop.New(stop.Asked, "%s", question)
	}
	if a.over != nil {
		return a.over
	}
	failed := a.failure()
	account := a.program.account(ctx)
	if err := a.refused(account, failed); err != nil {
		return err
	}
	if failed == nil {
		if changes == 0 && interaction.Asks(done.Words) {
			return stop.New(stop.Asked, "%s", diag.CleanLines(tool.Tail(done.Words, interaction.MaxQuestion)))
		}
		return nil
	}
	if why := account.SpentSince(a.before); why != "" {
		a.program.Log.Warn().Str("account", diag.Clean(why)).Msg("the gateway did not pay for the command's last call")
		failed.Kind, failed.Why = stop.Spent, "The model is not paid for any more. "+failed.Why
	} else if a.outcome.Killed() && (a.reading == nil || !a.reading.Ended) {
		failed.Kind = stop.Killed
	} else if a.outcome.Missing() && changes == 0 {
		failed.Kind, failed.Why = stop.Missing, failed.Why+" That is how a shell says that a program is missing, or cannot be executed, where the worker runs."
	} else if a.outcome.Trouble() && changes == 0 { // no word of the PM's changes how it is called
		failed.Kind, failed.Why = stop.Denied, failed.Why+" That is how a program says that it is called wrongly, or is in trouble itself."
	}
	return failed
}

// failure is why the command failed, from its stream if its format is known, else from its
// exit code. A known program's exit code alone is not relied on.
func (a *attempt) failure() *stop.Stop {
	log, out := filepath.Base(a.outcome.Log()), a.outcome
	if a.reading == nil {
		if out.OK() {
			return nil
		}
		failed := stop.New(stop.Unfinished, "The command of [model] command failed: %s.", out.End())
		if last := out.Tail(wordsSize); last != "" {
			failed.Output = fmt.Sprintf("The last of its output (logs/%s has more):\n\n%s", log, diag.Indent(last))
		}
		return failed
	}
	if out.OK() && a.reading.Ended {
		return nil
	}
	failed := stop.New(stop.Unfinished, "%s ended without a result: %s.", a.program.name(), out.End())
	if why := cmp.Or(a.reading.Failed, out.Tail(wordsSize)); why != "" {
		failed.Output = fmt.Sprintf("It said (logs/%s has more):\n\n%s", log, diag.Indent(tool.Tail(why, wordsSize)))
	}
	return failed
}

// words is the command's final text.
func (a *attempt) words() string {
	if a.reading == nil {
		return cmp.Or(a.outcome.Tail(wordsSize), "The command printed nothing.")
	}
	return tool.Tail(cmp.Or(a.reading.Words, a.program.name()+" said nothing."), wordsSize)
}

// tally is the stream's counts; for an unknown stream format the command itself counts as one
// call.
func (a *attempt) tally() model.Tally {
	if a.reading == nil {
		a.program.Gate.Note(1)
		return model.Tally{Calls: 1 + a.steps.n}
	}
	return model.Tally{Turns: a.reading.Turns, Calls: max(1, a.reading.Calls) + a.steps.n, Usage: a.reading.Usage}
}

// counted says in the report what was counted and what was not.
func (a *attempt) counted(t model.Tally) string {
	switch {
	case a.reading == nil: // its calls cannot be counted, but its time can (AGT-3)
		return fmt.Sprintf("\n\n(It took %s; its calls of tools are not counted, because Ward does not know its output.)", a.took.Round(time.Second))
	case !a.reading.Known:
		return fmt.Sprintf("\n\n(%s of tools; its tokens are unknown.)", diag.Count(t.Calls, "call"))
	}
	return t.Sentence()
}

// transcript is the command's conversation, or its output if the format is unknown.
func (a *attempt) transcript() string {
	if a.reading == nil {
		return diag.CleanLines(a.outcome.Text())
	}
	return a.watch.transcript.Text()
}

// changes are the differences from the command's first commit, as git lists them. In a damaged
// repository it returns nothing; the push of the work reports the damage.
func (a *attempt) changes(ctx context.Context) (list []string) {
	tree := a.program.tree()
	differ, err := tree.Git(ctx, "diff", "--name-status", "--no-renames", "-z", a.from, "--")
	if a.from == "" || err != nil {
		return nil
	}
	fields := strings.Split(strings.TrimSuffix(differ, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		list = append(list, fields[i]+"\t"+fields[i+1])
	}
	untracked, err := tree.Git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return list
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(untracked, "\x00"), "\x00") {
		if name != "" {
			list = append(list, "A\t"+name)
		}
	}
	return list
}

// bringHome moves commits that the command made on another branch to the one that is pushed,
// because many programs make their own branches. If that would lose commits, it is refused.
func (a *attempt) bringHome(ctx context.Context) {
	tree, branch := a.program.tree(), a.program.Prompt.Branch
	ref := "refs/heads/" + branch
	at, err := tree.Git(ctx, "rev-parse", "--symbolic-full-name", "HEAD")
	if err != nil || strings.TrimSpace(at) == ref {
		return
	}
	if _, err := tree.Git(ctx, "merge-base", "--is-ancestor", ref, "HEAD"); err != nil {
		return
	}
	if _, err := tree.Git(ctx, "checkout", "--quiet", "-B", branch); err != nil {
		a.program.Log.Warn().Err(err).Msg("the work stays on another branch")
		return
	}
	a.program.Log.Info().Str("from", diag.Clean(strings.TrimSpace(at))).Str("to", branch).Msg("the work was on another branch")
}

// postMortem closes the task with observed facts.
func (a *attempt) postMortem(ctx context.Context, done interaction.Done, changes []string, end error) {
	p := a.program
	f := task.Facts{Worker: p.name(), Iteration: p.Iteration, Began: a.began, Took: a.took, Changes: changes, Failed: a.watch.transcript.Failed(), Words: done.Words, End: task.Why(end)}
	if a.reading != nil {
		f.Used = " with " + diag.Count(a.reading.Calls, "call") + " of tools"
	}
	if _, err := task.CloseByFacts(ctx, p.tree(), p.Prompt.Directive.Name(), f, a.activity); err != nil {
		p.Log.Warn().Err(err).Msg("there is no post-mortem")
	}
}

// head is the checked out commit, "" for none.
func (p *Program) head(ctx context.Context) string {
	id, err := p.tree().Git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(id)
}

// name is the command's name.
func (p *Program) name() string {
	if p.Preset != nil {
		return p.Preset.Name
	}
	return filepath.Base(p.Config.Model.Command[0])
}
