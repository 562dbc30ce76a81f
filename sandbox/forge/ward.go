package forge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/lines"
	"git-ward/internal/pattern"
	"git-ward/internal/process"
	"git-ward/internal/token"
	"git-ward/sandbox/door"
)

// Verbs runs commands of `git ward` on the repository. It is the only way by which words of a
// forge's become a directive or a step: what a person at a terminal types, and no ref that was
// fetched (FORGE-2).
type Verbs struct {
	Program string // git-ward
	Bare    string
	Host    string   // the forge's host, for addresses in commits
	Lock    *os.File // the pass's lock; a command that outlives this process keeps it
}

// errUnknown is a command whose effect is unknown: the host had trouble (exit 2) or killed it.
var errUnknown = errors.New("it was not done, or not to its end")

// refusal is why a command refused (exit 1), in words for the public.
type refusal struct{ said string }

func (r *refusal) Error() string { return r.said }

// maxSaid bounds a command's kept output, in bytes; a review contains its patch.
const maxSaid = 24 << 20

// as runs a command as the PM of that name, with a token for a single push id.
func (v Verbs) as(ctx context.Context, name, push, stdin string, args ...string) (out string, err error) {
	mail := name + "@" + v.Host
	name = pusher(name)
	if err := token.CheckName(name); err != nil {
		return "", &refusal{err.Error()}
	}
	env, err := door.Environ(v.Bare, push, "pm", name)
	if err != nil {
		return "", err
	}
	env = append(env, "GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+mail, "GIT_COMMITTER_NAME="+name, "GIT_COMMITTER_EMAIL="+mail)
	return v.run(ctx, env, stdin, args)
}

// pusher is the gate's name of a person on the forge. [identity] takes a number alone for a user id,
// and no login has an @.
func pusher(login string) string {
	if strings.Trim(login, "0123456789") == "" {
		return login + "@forge"
	}
	return login
}

// run runs a command. Flags come first, so that no user's text is taken for one.
func (v Verbs) run(ctx context.Context, env []string, stdin string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, v.Program, args...)
	cmd.Dir = v.Bare
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0"}, env...)
	if tmp := os.Getenv("TMPDIR"); tmp != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	}
	process.EndGroup(cmd, syscall.SIGTERM, 5*time.Second)
	if v.Lock != nil {
		cmd.ExtraFiles = []*os.File{v.Lock}
	}
	cmd.Stdin = strings.NewReader(stdin)
	out, said := lines.Head{Most: maxSaid}, lines.Head{Most: maxSaid}
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return out.String(), nil
	case ended && exit.ExitCode() == 1:
		return "", &refusal{findings(said.String() + out.String())}
	case ended && exit.ExitCode() == 2:
		return "", fmt.Errorf("git ward %s: %w: %s", args[0], errUnknown, diag.Cut(strings.TrimSpace(said.String()), 300))
	}
	return "", fmt.Errorf("git ward %s: %w: %w", args[0], errUnknown, err)
}

var (
	aFinding = pattern.New(`^.*?: ([a-z]+/[a-z0-9-]+: .*)$`)
	hostPath = pattern.New(`(^|[\s'"(=])/[^\s/'"]+/[^\s'";,]*`)
)

// findings are a refusal's rules, messages and errors. Hints and git's output stay on the
// host, because they name its paths.
func findings(out string) string {
	var list []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "git-ward: error: "); ok {
			list = append(list, text)
		} else if m := aFinding.FindStringSubmatch(line); m != nil {
			list = append(list, m[1])
		}
	}
	if len(list) == 0 {
		return "the host has more on it"
	}
	return diag.CleanLines(hostPath.ReplaceAllString(strings.Join(list, "\n"), "$1(a path)"))
}
