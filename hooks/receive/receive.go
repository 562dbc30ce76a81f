// Package receive is the two hooks of a push: pre-receive judges it, post-receive
// records it. The hook binary links nothing else, because its start is part of
// every push.
package receive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"git-ward/hooks/checks"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

// Hook is one of the two parts. It is chosen by the path that the program runs as:
// its own name or, below a delegate that runs hooks/NAME.d/*, its directory's;
// else by its one argument, for wrappers (`ward-hook pre-receive`).
func Hook(path string, args []string) (cli.Func, error) {
	names := []string{filepath.Base(path), strings.TrimSuffix(filepath.Base(filepath.Dir(path)), ".d")}
	if len(args) == 1 {
		names = append(names, args[0])
	}
	for _, name := range names {
		switch name {
		case "pre-receive":
			return PreReceive, nil
		case "post-receive":
			return PostReceive, nil
		}
	}
	return nil, fmt.Errorf("started as %q; this program is installed as pre-receive and post-receive by `git ward init --bare DIR`", path)
}

// session is what both hooks have of a push.
type session struct {
	env     *cli.Env
	repo    *git.Repo
	batch   *git.Batch
	config  *config.Config
	updates []checks.Update
	input   []byte // the updates as git sent them, for chained hooks
	start   time.Time
	cancel  context.CancelFunc
}

// open reads what git gives a hook.
func open(ctx context.Context, env *cli.Env) (context.Context, *session, error) {
	s := &session{env: env, start: time.Now().UTC()}
	repo, err := git.FromHook(env.Getenv)
	if err != nil {
		return ctx, nil, cli.Hint(err, "push to the repository instead; `git ward lint` runs the same checks in a clone")
	}
	s.repo = repo
	if s.updates, s.input, err = readUpdates(env.Stdin); err != nil {
		return ctx, nil, err
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.batch = repo.Batch(ctx)
	return ctx, s, nil
}

// settings reads the repository's settings and puts its limits on: on children
// to come, and on the hook's own time.
func (s *session) settings() (err error) {
	if s.config, err = config.Load(s.repo.Dir); err != nil {
		return err
	}
	l := s.config.Limits
	s.repo.Limits = git.Limits{Memory: l.Memory, Alloc: l.Alloc, CPU: l.CPU.Duration}
	time.AfterFunc(l.Deadline.Duration, s.cancel)
	return nil
}

func (s *session) close() {
	s.batch.Close()
	s.cancel()
}

// maxInput bounds what git sends on standard input: about 10,000 refs.
const maxInput = 4 << 20

// readUpdates reads `old SP new SP ref LF` lines (githooks(5)).
func readUpdates(r io.Reader) (updates []checks.Update, input []byte, err error) {
	input, err = io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, nil, err
	}
	if len(input) > maxInput {
		return nil, nil, fmt.Errorf("more than %d bytes of ref updates in one push", maxInput)
	}
	lines := bufio.NewScanner(strings.NewReader(string(input)))
	for lines.Scan() {
		old, rest, ok1 := strings.Cut(lines.Text(), " ")
		id, ref, ok2 := strings.Cut(rest, " ")
		if !ok1 || !ok2 || ref == "" {
			return nil, nil, fmt.Errorf("%q on standard input is not a ref update", lines.Text())
		}
		updates = append(updates, checks.Update{Ref: ref, Old: old, New: id})
	}
	if len(updates) == 0 {
		return nil, nil, errors.New("no ref update on standard input: a hook is started by git receive-pack, not by hand")
	}
	return updates, input, lines.Err()
}

// pushOptions are the -o options of the push (githooks(5)).
func pushOptions(getenv func(string) string) ([]string, error) {
	count := getenv("GIT_PUSH_OPTION_COUNT")
	if count == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > 1000 {
		return nil, fmt.Errorf("GIT_PUSH_OPTION_COUNT=%q", count)
	}
	options := make([]string, n)
	for i := range options {
		options[i] = getenv("GIT_PUSH_OPTION_" + strconv.Itoa(i))
	}
	return options, nil
}
