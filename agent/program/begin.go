package program

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"git-ward/agent/activity"
	"git-ward/agent/orient"
	"git-ward/agent/prompt"
	"git-ward/agent/stop"
	"git-ward/agent/task"
	"git-ward/agent/web"
	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/worktree"
)

// tree is the working tree, as the command's git sees it.
func (p *Program) tree() *worktree.Tree { return &worktree.Tree{Dir: p.Dir, Env: p.Env} }

// begin runs the whole orientation before the work, which a command is not asked to do
// (WORK-1), and returns its text for the prompt. Work without a successful orientation does
// not begin.
func (p *Program) begin(ctx context.Context, log *activity.Log) (string, error) {
	begun, err := task.Begin(ctx, p.Prompt.Directive, orient.Options{
		Tree: p.tree(), Getenv: p.Getenv, Unit: p.Unit, Bare: p.Bare, Search: web.Asker(p.Config.Search.URL),
	}, log)
	if err != nil {
		return "", err
	}
	if begun.Report.Failed() {
		return "", stop.New(stop.Blocked, "Orientation failed, so the work did not begin: %s.", diag.Clean(strings.Join(begun.Report.Problems, "; ")))
	}
	return begun.Text(), nil
}

// writePrompt writes the prompt to a file outside the working tree that the command may read,
// and returns its path. The prompt is always complete, because a command that is run again
// remembers nothing.
func (p *Program) writePrompt(refusal string) (string, error) {
	dir := filepath.Join(p.State, "prompt")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	told := p.Prompt
	told.Kind, told.AskPath, told.Refusal = prompt.Program, p.askPath(), refusal
	path := filepath.Join(dir, told.Directive.Name()+".md")
	return path, atomicfile.Write(path, []byte(told.Text()), 0o600)
}
