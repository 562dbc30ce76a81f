package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"git-ward/internal/diag"

	"golang.org/x/sys/unix"
)

// Program is the path of one of Ward's binaries: beside the running one, so that
// one build runs with itself, then on PATH.
func Program(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if path := filepath.Join(filepath.Dir(self), name); unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", diag.Hint(fmt.Errorf("the program %s is neither beside the running one nor on PATH", name), "run scripts/build; it puts all of them in bin/")
	}
	return filepath.Abs(path)
}

// Exec returns a command that replaces this process with another of Ward's binaries, which is
// separate because of the size of what it links. verb is its first argument.
func Exec(name, verb string) Func {
	return func(ctx context.Context, env *Env) error {
		path, err := Program(name)
		if err != nil {
			return err
		}
		if env.asked != nil {
			if env.asked.page, err = askProgram(ctx, path, verb); err != nil {
				return err
			}
			return errAsked
		}
		if words, help := helpOf(env.Args); help && env.command != nil {
			p, err := askProgram(ctx, path, verb)
			if err != nil {
				return err
			}
			p.Doc = env.command.Doc // main.go's table has it
			return p.Find(words).WriteText(env.Stdout)
		}
		return syscall.Exec(path, append([]string{name, verb}, env.Args...), os.Environ())
	}
}

// helpOf tells whether a command line asks for a manual, and the words that say of what.
func helpOf(args []string) (words []string, help bool) {
	for i, arg := range args {
		switch {
		case arg == "--":
			return nil, false
		case arg == "--help" || i == 0 && isHelp(arg):
			help = true
		default:
			words = append(words, arg)
		}
	}
	return words, help
}
