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

// inEditor lets the person change a text in a file, with the person's own editor, and gives
// what the file holds then.
func inEditor(ctx context.Context, env *cli.Env, path, text string) (string, error) {
	if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	editor, err := git.AsPerson(env.Dir, os.Environ()).Editor(ctx)
	if err != nil {
		return "", diag.Hint(err, "or give the text by -m")
	}
	// As git does it: a shell reads the editor's words, and the file is its argument.
	cmd := exec.Command("/bin/sh", "-c", editor+` "$@"`, editor, path)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Dir, env.Stdin, cli.Raw(env.Stdout), cli.Raw(env.Stderr)
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
