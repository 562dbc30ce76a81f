package program

import (
	"os"
	"path/filepath"

	"git-ward/agent/prompt"
	"git-ward/internal/atomicfile"
)

// write puts the prompt into a file that the command may read, outside of the working
// tree, and returns its path. All of it is told each time, because a command that is run
// again is a new one; the refusal is why its work was refused, "" where it was not.
func (p *Program) write(refusal string) (string, error) {
	dir := filepath.Join(p.State, "prompt")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	told := p.Prompt
	told.Kind, told.Refusal = prompt.Program, refusal
	path := filepath.Join(dir, told.Directive.Name()+".md")
	return path, atomicfile.Write(path, []byte(told.Text()), 0o600)
}
