// Package receive is the two hooks of a push: pre-receive judges it, post-receive
// records it. The hook binary links nothing else, because its start is part of
// every push.
package receive

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/hooks/push"
	"git-ward/internal/cli"
	"git-ward/internal/config"
	"git-ward/internal/diag"
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
	updates []push.Update
	input   []byte         // the updates as git sent them, for chained hooks
	omitted *audit.Omitted // what was sent besides
	start   time.Time
	cancel  context.CancelFunc
	// abandoned says that the checks still run, on the batch.
	abandoned bool
}

// collectAt is the heap from which on a hook collects garbage in earnest. It is no
// bound: the bounds of what is read are, and keep a hook below 256 MiB.
const collectAt = 128 << 20

// open reads what git gives a hook.
func open(ctx context.Context, env *cli.Env) (context.Context, *session, error) {
	s := &session{env: env, start: time.Now().UTC()}
	repo, err := git.FromHook(env.Getenv)
	if err != nil {
		return ctx, nil, diag.Hint(err, "push to the repository instead; `git ward lint` runs the same checks in a clone")
	}
	s.repo = repo
	debug.SetMemoryLimit(collectAt)
	if s.updates, s.input, s.omitted, err = readUpdates(env.Stdin); err != nil {
		return ctx, nil, err
	}
	ctx, s.cancel = context.WithCancel(ctx)
	s.batch = repo.Batch(ctx)
	return ctx, s, nil
}

// settings reads the repository's settings and puts its limits on children to come.
func (s *session) settings() (err error) {
	if s.config, err = config.Load(s.repo.Dir); err != nil {
		return err
	}
	l := s.config.Limits
	s.repo.Limits = git.Limits{Memory: l.Memory, Alloc: l.Alloc, CPU: l.CPU.Duration}
	return nil
}

func (s *session) close() {
	if !s.abandoned {
		s.batch.Close()
	}
	s.cancel()
}

// maxLine bounds one line of git's: a packet line holds 65,520 bytes.
const maxLine = 1 << 16

// readUpdates reads `old SP new SP ref LF` lines (githooks(5)) as far as the audit
// can hold them. What is beyond that is counted and hashed: such a push is refused,
// and its record says so.
func readUpdates(r io.Reader) (updates []push.Update, input []byte, omitted *audit.Omitted, err error) {
	lines := bufio.NewReaderSize(r, maxLine)
	size, beyond := 0, sha256.New()
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, nil, fmt.Errorf("standard input: %w", err)
		}
		text := strings.TrimSuffix(string(line), "\n")
		old, rest, ok1 := strings.Cut(text, " ")
		id, ref, ok2 := strings.Cut(rest, " ")
		if !ok1 || !ok2 || ref == "" {
			return nil, nil, nil, fmt.Errorf("%q on standard input is not a ref update", text[:min(len(text), 200)])
		}
		if size += audit.SizeOf(ref); omitted != nil || len(updates) == audit.MaxRefs || size > audit.MaxRefBytes {
			if omitted == nil {
				omitted = &audit.Omitted{}
			}
			omitted.Refs++
			beyond.Write([]byte(text + "\n"))
			continue
		}
		updates = append(updates, push.Update{Ref: ref, Old: old, New: id})
		input = append(input, line...)
	}
	if len(updates) == 0 {
		return nil, nil, nil, errors.New("no ref update on standard input: a hook is started by git receive-pack, not by hand")
	}
	if omitted != nil {
		omitted.SHA256 = hex.EncodeToString(beyond.Sum(nil))
	}
	return updates, input, omitted, nil
}

// pushOptions are the -o options of the push (githooks(5)).
func pushOptions(getenv func(string) string) ([]string, error) {
	count := getenv("GIT_PUSH_OPTION_COUNT")
	if count == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("GIT_PUSH_OPTION_COUNT=%q", count)
	}
	options := make([]string, min(n, maxOptions))
	for i := range options {
		options[i] = getenv("GIT_PUSH_OPTION_" + strconv.Itoa(i))
	}
	if n > maxOptions {
		err = errOptions
	}
	return options, err
}

// maxOptions is how many push options are read.
const maxOptions = 1000

var errOptions = fmt.Errorf("the push has more than %d options", maxOptions)
