package planrun

import (
	"context"
	"fmt"
	"strings"
	"time"

	"git-ward/agent/activity"
	"git-ward/internal/diag"
	"git-ward/protocols/plan"
)

// maxMessage bounds a step's text in its commit.
const maxMessage = 2 << 10

// commit commits a step: the current tree, on top of the head that the run knows. The branch
// moves by compare-and-swap, so that of two runs one wins.
func (u *run) commit(ctx context.Context, p point, message string) error {
	if u.deps.Record != nil {
		return u.commitApart(ctx, p, message)
	}
	if err := u.sameBranch(ctx); err != nil {
		return err
	}
	tree := u.head + "^{tree}" // where the step moved the branch by its own push or commit
	if writes(p) {
		if err := u.stage(ctx, p); err != nil {
			return err
		}
		id, err := u.deps.Tree.Git(ctx, "write-tree")
		if err != nil {
			return err
		}
		tree = id
	}
	out, err := u.deps.Tree.GitInput(ctx, nil, []byte(u.message(p, message)), "commit-tree", tree, "-p", u.head, "-F", "-")
	if err != nil {
		return err
	}
	id := strings.TrimSpace(string(out))
	if _, err := u.deps.Tree.Git(ctx, "update-ref", "-m", "ward: "+u.name(p.n), "HEAD", id, u.head); err != nil {
		return err
	}
	u.head = id
	return nil
}

// sameBranch refuses to continue if a command moved HEAD to another branch. It accepts commits
// that a command made on the branch.
func (u *run) sameBranch(ctx context.Context) error {
	branch, head, err := u.deps.Tree.Head(ctx)
	if err != nil || branch != u.branch {
		return fmt.Errorf("the step left the working tree on %s, not on %s", short(branch), short(u.branch))
	}
	known := &u.head
	if u.deps.Record != nil {
		known = &u.tip
	}
	if head == *known {
		return nil
	}
	if _, err := u.deps.Tree.Git(ctx, "merge-base", "--is-ancestor", *known, head); err != nil {
		return fmt.Errorf("the step took commits off %s", short(u.branch))
	}
	*known = head
	return nil
}

func short(ref string) string {
	if ref == "" {
		return "no branch"
	}
	return strings.TrimPrefix(ref, "refs/heads/")
}

// message is the commit message of a step.
func (u *run) message(p point, text string) string {
	var b strings.Builder
	first, _, _ := strings.Cut(strings.TrimSpace(p.Args+"\n"+p.Block), "\n")
	line := strings.TrimSpace(p.Tool + " " + diag.Cut(first, 60))
	fmt.Fprintf(&b, "plan: %s\n\n", diag.Clean(u.redact(line)))
	if text != "" {
		fmt.Fprintf(&b, "%s\n\n", text)
	}
	for _, line := range u.deps.Trailers {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, "%s: %s\n%s: %s\n", TrailerStep, u.name(p.n), TrailerRun, u.base)
	if u.repeated {
		fmt.Fprintf(&b, "%s: the run before was interrupted at this command, which may have run then\n", trailerAgain)
	}
	return b.String()
}

func (u *run) redact(s string) string {
	if u.deps.Redact != nil {
		return u.deps.Redact(s)
	}
	return s
}

// plainText makes a step's text fit for a commit message and the log, the same for both.
func (u *run) plainText(s string) string {
	lines := strings.Split(u.redact(diag.Cut(s, maxMessage)), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(diag.Clean(strings.ReplaceAll(line, "\t", "    ")), " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// undo reverts a failed step's changes to the tree. The run began with a clean tree, but
// others may work in it meanwhile, so everything is set aside first.
func (u *run) undo(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil // the next run finds the intent, and sets it aside
	}
	if u.deps.Record != nil {
		defer u.clearIntent()
		return u.restore(ctx)
	}
	if u.branch != "" {
		if _, err := u.deps.Tree.Git(ctx, "symbolic-ref", "HEAD", u.branch); err != nil {
			return err
		}
	}
	if err := u.putAside(ctx, "a failed", u.head); err != nil {
		return err
	}
	_, err := u.deps.Tree.Git(ctx, "clean", "-fdq", "--exclude=/logs/") // empty directories that are no repository
	u.clearIntent()
	return err
}

// logID is the id of a step's line, the same however often it is written.
func (u *run) logID(n int, what string) string {
	return activity.UUID(u.base + " " + u.name(n) + " " + what)
}

// ends reports whether the step closes the task.
func (u *run) ends(p point) bool { return p.Action() == plan.CloseOp }

// record logs a completed step.
func (u *run) record(p point, message string, at time.Time) error {
	e := u.entry(p, message, at)
	if has, err := u.deps.Log.Has(e.ID); err != nil {
		return err
	} else if !has {
		if err := u.deps.Log.Append(e); err != nil {
			return err
		}
	}
	if !u.ends(p) {
		return nil
	}
	e.ID, e.Action = u.logID(p.n, "end"), activity.Action{Type: activity.TaskEnd}
	return u.deps.Log.Append(e)
}

// entry is the log line of a step.
func (u *run) entry(p point, message string, at time.Time) activity.Entry {
	phase := "EXECUTING"
	if p.research() {
		phase = "RESEARCHING"
	}
	details := map[string]any{"tool": p.Tool, "args": p.Args, "line": p.Line}
	if p.Block != "" {
		details["block_bytes"] = len(p.Block)
	}
	if len(p.files) > 0 {
		details["files"] = p.files
	}
	if p.Tool == plan.Bash && !u.ends(p) {
		details["at_least_once"] = true
		if u.repeated {
			details["run_again"] = true
		}
	}
	return activity.Entry{
		ID: u.logID(p.n, ""), Time: at, Phase: phase, Task: activity.Task{ID: u.deps.Task, Step: u.name(p.n)},
		Action:   activity.Action{Type: u.kind(p), Details: details},
		Outcome:  activity.Outcome{Status: activity.Success, Message: message},
		Evidence: p.Evidence(), Execution: activity.Execution{Stack: p.stack},
	}
}

// kind is the type of a step's log line.
func (u *run) kind(p point) activity.Type {
	switch p.Tool {
	case plan.ReadFile, plan.ListFiles, plan.Grep:
		return activity.FileRead
	case plan.GoogleSearch, plan.ViewTextWebsite:
		return activity.ExternalRAGQuery
	case plan.CreateFile, plan.OverwriteFile, plan.ReplaceDiff, plan.DeleteFile, plan.RenameFile:
		return activity.FileWrite
	case plan.SetPlan, plan.StepComplete, plan.ForEachFile:
		return activity.PlanUpdate
	case plan.CallPlan:
		// A registered name may also be a program's.
		if path, err := u.lint.Resolve(p.Args); err == nil && strings.HasSuffix(path, ".udc") {
			return activity.ToolExec
		}
		return activity.PlanUpdate
	case plan.MessageUser, plan.DefineNames, plan.DefineDiagonal:
		return activity.Info
	}
	switch {
	case p.Action() != plan.CloseOp:
		return activity.ToolExec
	case p.research():
		return activity.ResearchReport
	}
	return activity.PostMortem
}
