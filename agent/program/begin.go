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

// tree is the working tree, as the command's own git sees it.
func (p *Program) tree() *worktree.Tree { return &worktree.Tree{Dir: p.Dir, Env: p.Env} }

// begin does before the work what nobody asks a command to do (WORK-1): all of the
// orientation. It returns its text for the prompt. Work that cannot be oriented does not
// begin.
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

// writePrompt puts the prompt into a file that the command may read, outside of the
// working tree, and returns its path. All of it is told each time, because a command that
// is run again is a new one.
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
