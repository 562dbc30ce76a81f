package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"git-ward/internal/atomicfile"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// maxDraft bounds what is read of a text that a person wrote, in bytes.
const maxDraft = 1 << 20

// kept is a text that a person writes, in a file of its own until it is pushed, so that no
// other text gets in its way and a refused one is not lost.
type kept struct {
	dir, pattern string // where the file is made, and its name as os.CreateTemp wants it
	path         string // "" before there is one
}

// kept is the file that keeps the text, below the repository.
func (u *units) kept(pattern string) *kept { return &kept{dir: u.repo.Dir, pattern: pattern} }

func (k *kept) write(text string) error {
	if k.path == "" {
		file, err := os.CreateTemp(k.dir, k.pattern)
		if err != nil {
			return err
		}
		k.path = file.Name()
		file.Close()
	}
	return atomicfile.Write(k.path, []byte(text), 0o600)
}

// arrived removes the file once the text is pushed, or is empty.
func (k *kept) arrived() {
	if k.path != "" {
		os.Remove(k.path)
	}
}

// inEditor opens the file in the person's own editor, and returns its content then.
func inEditor(ctx context.Context, env *cli.Env, k *kept, text string) (string, error) {
	if err := k.write(text); err != nil {
		return "", err
	}
	path := k.path
	editor, err := git.AsPerson(env.Dir, os.Environ()).Editor(ctx)
	if err != nil {
		return "", diag.Hint(err, "or give the text by -m")
	}
	// As in git, a shell parses the editor's command, and the file is its argument.
	cmd := exec.Command("/bin/sh", "-c", editor+` "$@"`, editor, path)
	// Its screen is no part of what the command prints, which a program may read (--json).
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Dir, env.Stdin, cli.Raw(env.Stderr), cli.Raw(env.Stderr)
	if err := cmd.Run(); err != nil {
		return "", diag.Hint(fmt.Errorf("the editor %q ended with an error, and nothing was changed: %w", editor, err), "the text is kept in %s", path)
	}
	return readDraft(path)
}

func readDraft(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxDraft {
		return "", fmt.Errorf("%s is not a file of at most %d bytes", path, maxDraft)
	}
	data, err := os.ReadFile(path)
	return string(data), err
}
