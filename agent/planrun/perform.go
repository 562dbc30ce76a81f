package planrun

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"git-ward/agent/stop"
	"git-ward/agent/tool"
	"git-ward/agent/web"
	"git-ward/internal/diag"
	"git-ward/protocols/plan"
)

const (
	maxFile    = 10 << 20  // that a step reads or writes
	maxOutput  = 256 << 10 // a step's output, for its reader
	maxMatches = 1000      // of grep
)

// perform executes a step. The message is for its commit and log line: what happened, never
// what was read.
func (u *run) perform(ctx context.Context, p point) (message string, err error) {
	args := u.place(p, plan.Fill(p.Args, p.files))
	output := ""
	if p.research() {
		u.research.begins(p)
		if u.research.gathers(p) {
			return u.gather(ctx, p, args)
		}
	}
	switch p.Tool {
	case plan.SetPlan, plan.StepComplete, plan.DefineNames, plan.DefineDiagonal:
		message = p.Text()
	case plan.MessageUser:
		message = fmt.Sprintf("told the PM, %d bytes", len(p.Text()))
		err = u.deps.Effects.Message(ctx, plan.Fill(p.Text(), p.files), fmt.Sprintf("Step: %s of %.12s", u.name(p.n), u.base))
	case plan.Submit:
		message, err = "pushed", u.deps.Effects.Submit(ctx)
	case plan.ReadFile:
		output, err = u.readFile(args)
		message = fmt.Sprintf("read %d bytes", len(output))
	case plan.ListFiles:
		output, err = u.listFiles(args)
		message = fmt.Sprintf("%d names", strings.Count(output, "\n"))
	case plan.Grep:
		output, err = u.grep(ctx, p)
		message = fmt.Sprintf("%d lines match", strings.Count(output, "\n"))
	case plan.GoogleSearch:
		output, err = web.Search(ctx, u.deps.Search, args)
		message = fmt.Sprintf("found %d bytes", len(output))
	case plan.ViewTextWebsite:
		output, err = web.View(ctx, u.deps.Search, args)
		message = fmt.Sprintf("read %d bytes", len(output))
	case plan.CreateFile, plan.OverwriteFile, plan.ReplaceDiff, plan.DeleteFile, plan.RenameFile:
		message, err = u.change(p, args)
	case plan.ForEachFile:
		files, matchErr := u.cursor.files(args)
		message, err = fmt.Sprintf("%d files", len(files)), matchErr
	case plan.CallPlan:
		message, output, err = u.call(ctx, p)
	case plan.Bash:
		message, output, err = u.bash(ctx, p)
		if err == nil && p.research() && p.Action() == plan.ToolExec {
			u.research.gathered(p, args, output, nil)
		}
	}
	if u.deps.Output != nil && (output != "" || err != nil) {
		u.deps.Output(u.name(p.n), diag.Cut(output, maxOutput))
	}
	return u.plainText(message), err
}

// bash runs a command, or closes the task.
func (u *run) bash(ctx context.Context, p point) (message, output string, err error) {
	if id := p.Closes(); id != "" {
		if p.research() {
			return fmt.Sprintf("research is done: %s", diag.Count(u.research.findings, "finding")), "", u.research.closes()
		}
		message, err = u.deps.Effects.Close(ctx, id)
		return message, "", err
	}
	command, err := plan.FillCommand(p.Text(), p.files)
	if err != nil {
		return "", "", err
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "", "", err
	}
	box := *u.deps.Box
	box.Env = append(box.Env[:len(box.Env):len(box.Env)], u.tag())
	box.Env = append(box.Env, plan.CommandFiles(p.files)...)
	result, err := tool.Call(ctx, box.Tools(), "bash", args)
	if err != nil {
		return "", "", err
	}
	last := strings.TrimSpace(result.Text[strings.LastIndex(result.Text, "\n")+1:])
	if result.IsError {
		err := fmt.Errorf("the command ended with %s; the last of its output:\n%s", last, lastLines(result.Text, 2000))
		if result.Missing {
			err = &stop.Stop{Kind: stop.Missing, Why: err.Error()}
		}
		return "", result.Text, err
	}
	return last, result.Text, nil
}

// lastLines is a text's end, in whole lines if possible.
func lastLines(s string, size int) string {
	if len(s) <= size {
		return s
	}
	s = s[len(s)-size:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
