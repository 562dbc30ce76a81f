package command

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/git"
)

const cloneUsage = "clone URL [DIR]"

// Clone is `git ward clone URL DIR`: a clone that also follows the audit, the
// lessons, the certificates and the units of work. Their refspecs have no `+`,
// so that a rewritten record is refused by the fetch and seen (GIT-2).
func Clone(ctx context.Context, env *cli.Env) error {
	args, err := env.Flags("clone", cloneUsage, func(*flag.FlagSet) {})
	if err != nil {
		return err
	}
	if len(args) < 1 || len(args) > 2 {
		return env.Usage(cloneUsage, "clone takes a URL and a directory")
	}
	if len(args) == 1 {
		args = append(args, strings.TrimSuffix(filepath.Base(strings.TrimSuffix(args[0], "/")), ".git"))
	}
	dir := env.Path(args[1])
	steps := [][]string{
		{"clone", "--", args[0], dir},
		{"-C", dir, "config", "--add", "remote.origin.fetch", "refs/ward/*:refs/ward/*"},
		{"-C", dir, "config", "--add", "remote.origin.fetch", "refs/notes/*:refs/notes/*"},
		{"-C", dir, "config", "pull.rebase", "true"},
		{"-C", dir, "config", "ward.principal", "pm"},
		{"-C", dir, "config", "merge.ward-lessons.name", "lessons, by id"},
		{"-C", dir, "config", "merge.ward-lessons.driver", "git-ward lesson merge %O %A %B"},
		{"-C", dir, "fetch", "--quiet", "origin"},
	}
	for _, step := range steps {
		cmd := exec.CommandContext(ctx, "git", step...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Dir, env.Stdin, env.Stdout, env.Stderr
		// The user's own settings hold, for keys and addresses; hooks of a template do not.
		cmd.Env = git.Harden(git.Elsewhere(os.Environ()))
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("git %s: %w", step[0], err)
		}
	}
	fmt.Fprintf(env.Stdout, "cloned into %s, with the audit\nnext: write a directive under `## Directives` in COMMS.md, commit, push; git ward log shows every push\n", args[1])
	return nil
}
