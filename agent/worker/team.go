package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/sys/unix"

	"git-ward/agent/cycle"
	"git-ward/agent/model"
	"git-ward/agent/reach"
	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
	"git-ward/protocols/uow"
)

// team is the configured worker in the roles of an iteration.
type team struct {
	*unit
	subagents *cycle.Subagents
	fresh     func() (worker, error) // a worker that knows nothing
	worker    worker                 // of the iteration at hand
	of        int                    // whose iteration worker is
	skeptic   model.Model            // nil: the verdict's facts are all that is learned
	system    string
}

// newTeam makes it from what main says now.
func (u *unit) newTeam(ctx context.Context, subagents *cycle.Subagents) (*team, error) {
	main, err := u.store.Main(ctx)
	if err != nil {
		return nil, err
	}
	source, _, err := main.Comms(ctx)
	if err != nil {
		return nil, err
	}
	system, err := main.File(ctx, "SYSTEM.md", promptSize)
	if err != nil {
		return nil, err
	}
	u.memory = u.recall(ctx)
	t := &team{unit: u, subagents: subagents, of: -1, system: systemPrompt(system, source)}
	t.fresh = func() (worker, error) { return u.newWorker(ctx, main, t.system) }
	w, err := t.fresh()
	if c, ok := w.(*conversation); ok {
		t.skeptic = c.model
	}
	return t, err
}

// Solve lets a fresh worker work on the brief; a refusal goes to the one that did
// the work.
func (t *team) Solve(ctx context.Context, b cycle.Brief, refusal string) (string, int, error) {
	if t.worker == nil || t.of != b.Iteration || refusal == "" {
		w, err := t.fresh()
		if err != nil {
			return "", 0, err
		}
		t.worker, t.of = w, b.Iteration
		if c, ok := w.(*conversation); ok {
			c.brief(b)
		}
	}
	told := ""
	if refusal == "" {
		var err error
		if told, err = t.told(b); err != nil {
			return "", 0, err
		}
	}
	ctx, end := t.subagents.Begin(ctx, told)
	defer end()
	before := 0
	c, counted := t.worker.(*conversation)
	if counted {
		before = c.tally.Calls
		c.limit = t.limits.MaxToolCallsPerIteration
		if refusal == "" {
			c.guard = uow.NewGuard(t.journal.Last().Policy)
		}
	}
	ctx, launched := t.timed(ctx)
	defer launched()
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(t.limits.MaxSecondsPerIteration)*time.Second, stop.New(stop.Unfinished, "the iteration's time is over (max_seconds_per_iteration)"))
	defer cancel()
	words, err := t.worker.do(ctx, refusal)
	calls := 1 // a command counts as one, unless its stream tells what it did inside
	if c, ok := t.worker.(*command); ok {
		calls = max(calls, c.calls)
	}
	if counted {
		calls = c.tally.Calls - before
	}
	if over := stop.Of(context.Cause(ctx)); err != nil && over != nil {
		// Where the launch's time is over, that it is counts before what the worker says of it.
		if over.Kind == stop.Spent || stop.As(err, stop.Unfinished, stop.Spent, stop.Blocked) == nil {
			err = over
		}
	}
	return words, calls, err
}

// brief gives the conversation its capsule, as the result of a tool: the prompt
// itself stays SYSTEM.md and COMMS.md (LOOP-3).
func (c *conversation) brief(b cycle.Brief) {
	c.talk.Iteration = b.Iteration
	c.talk.Plan = fmt.Sprintf("plans/%s.iter_%d.plan.txt", c.directive.Name(), b.Iteration)
	args, _ := json.Marshal(map[string]string{"path": b.CapsulePath})
	const id = "capsule"
	c.talk.Messages = append(c.talk.Messages,
		model.Message{Role: model.Assistant, Briefing: true, Calls: []model.Call{{ID: id, Name: "read_file", Args: args}}},
		model.Message{Role: model.User, Results: []model.Result{{ID: id, Result: tool.Result{Text: string(b.Capsule)}}}})
}

// told is what the worker of the iteration was told beyond SYSTEM.md and COMMS.md: a
// model by messages, a command by the capsule's file in its working tree.
func (t *team) told(b cycle.Brief) (string, error) {
	c, ok := t.worker.(*conversation)
	if !ok {
		data, err := os.ReadFile(filepath.Join(t.work.Dir(), filepath.FromSlash(b.CapsulePath)))
		return string(data), err
	}
	var told strings.Builder
	for _, m := range c.talk.Messages {
		told.WriteString(m.Text + "\n")
		for _, r := range m.Results {
			told.WriteString(r.Text + "\n")
		}
	}
	return told.String(), nil
}

// Review asks the model, in a context of its own, to type what was learned. A
// model that has nothing to say, or says it wrongly, leaves the verdict's facts.
func (t *team) Review(ctx context.Context, b cycle.Brief, r cycle.Result) (cycle.Review, int, error) {
	if t.skeptic == nil {
		return cycle.Review{}, 0, nil
	}
	verdict, err := r.Verdict.Line()
	if err != nil {
		return cycle.Review{}, 0, err
	}
	talk := model.Conversation{System: t.system, Directive: t.directive.Name(), Title: t.directive.Title.String(), Iteration: b.Iteration, Role: string(loop.Skeptic),
		Messages: []model.Message{{Role: model.User, Text: skepticPrompt(b, r, verdict, strings.Join(slices.Sorted(maps.Keys(t.journal.Last().Policy.Branches)), ", "))}}}
	ctx, end := t.subagents.Begin(ctx, "")
	defer end()
	timed, cancel := t.timed(ctx)
	defer cancel()
	reply, err := t.skeptic.Turn(timed, &talk)
	if err != nil {
		if ctx.Err() != nil {
			return cycle.Review{}, 0, err
		}
		t.log.Warn().Err(err).Msg("no review; the verdict's facts are all that is learned")
		return cycle.Review{}, 0, nil
	}
	review, err := parseReview(reply.Text)
	if err != nil {
		t.log.Warn().Err(err).Msg("the review cannot be read; the verdict's facts are all that is learned")
	}
	return review, 0, nil
}

// skepticPrompt is all that the Skeptic is told.
func skepticPrompt(b cycle.Brief, r cycle.Result, verdict []byte, outcomes string) string {
	var changes strings.Builder
	for _, c := range r.Changes {
		fmt.Fprintf(&changes, "%s %s\n", c.Status, c.Path)
	}
	return fmt.Sprintf(`You are the Skeptic of iteration %d. You did not do its work, and its words are guesses until something verified them.

# The capsule

%s
# What the Solver said

%s

# What it changed

%s
# The host's verdict

%s

# Your answer

One JSON object and nothing else: {"tried": [text], "succeeded": [{"Lane": "B", "Text": text, "Link": null}], "failed": [{"Lane": "C", "Text": text, "Link": null}], "open": [text], "diagnosis": text, "outcome": word, "confidence": decimal}.
Outcome and confidence may be "": outcomes that the policy knows are %s.
Each text is one sentence for a reader who knows only the repository. A success is of lane B; a failure is of lane C, a guess. What the verdict says is written down already.
`, b.Iteration, b.Capsule, r.Words, changes.String(), verdict, outcomes)
}

// maxReview bounds the items of a review, and reviewSize its bytes.
const (
	maxReview  = 20
	reviewSize = 64 << 10
)

// parseReview finds the JSON object in the Skeptic's words.
func parseReview(text string) (cycle.Review, error) {
	var r cycle.Review
	start, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if start < 0 || end < start || end-start > reviewSize {
		if strings.TrimSpace(text) == "" {
			return r, nil
		}
		return r, errors.New("there is no JSON object in it")
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text[start : end+1])))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return cycle.Review{}, err
	}
	r.Tried, r.Open = r.Tried[:min(len(r.Tried), maxReview)], r.Open[:min(len(r.Open), maxReview)]
	r.Succeeded, r.Failed = r.Succeeded[:min(len(r.Succeeded), maxReview)], r.Failed[:min(len(r.Failed), maxReview)]
	return r, nil
}

// signals is what says stop (LOOP-9): the file scratch/STOP on main, on the branch
// or in the working tree, a full disk, and what the loop depends on.
func (u *unit) signals(ctx context.Context) []loop.Signal {
	var list []loop.Signal
	if main, err := u.store.Look(ctx); err == nil {
		if _, err := main.File(ctx, loop.StopPath, 1<<20); err == nil {
			list = append(list, loop.Signal{Kind: loop.StopFile, Detail: "main"})
		}
	}
	if data, err := u.work.File(ctx, loop.StopPath); err == nil && data != nil {
		list = append(list, loop.Signal{Kind: loop.StopFile, Detail: u.work.Branch})
	} else if _, err := os.Lstat(filepath.Join(u.work.Dir(), loop.StopPath)); err == nil {
		list = append(list, loop.Signal{Kind: loop.StopFile, Detail: "the working tree"})
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(u.State, &fs); err == nil && loop.DiskOver90(fs.Blocks-fs.Bavail, fs.Blocks) {
		list = append(list, loop.Signal{Kind: loop.DiskFull})
	}
	for _, address := range u.Config.Loop.DependsOn {
		if err := reach.Check(ctx, address, httpproxy.FromEnvironment()); err != nil && ctx.Err() == nil {
			list = append(list, loop.Signal{Kind: loop.DependencyDown, Detail: address + ": " + diag.Clean(err.Error())})
		}
	}
	return list
}
