package receive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"git-ward/internal/token"
)

// chainedSuffix makes the directory of chained hooks from that of Ward's
// (internal/hookdir).
const chainedSuffix = ".chained"

// Path is the absolute path that this process was started as: where a hook is in its layout. A
// parent may choose argv[0]; where that names no executable file, the path is the kernel's.
func Path() string {
	if strings.Contains(os.Args[0], "/") {
		if path, err := filepath.Abs(os.Args[0]); err == nil && unix.Access(path, unix.X_OK) == nil {
			return path
		}
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// The hooks that git runs, and the name of a chained one.
const (
	preReceive  = "pre-receive"
	postReceive = "post-receive"
)

// chainedTime is how long a chained hook may take. That is its owner's business within reason;
// Ward's own deadlines are for Ward's work.
const chainedTime = 2 * time.Minute

// runChained runs the hook that was installed before Ward's, with the same input, directory
// and environment, without credentials. A chained pre-receive's refusal counts. It lies in a
// directory next to Ward's hooks under its own name, so that its $0 and its siblings are as
// before.
func (s *session) runChained(ctx context.Context, name string) error {
	hooks := filepath.Dir(Path())
	path := filepath.Join(hooks+chainedSuffix, name)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&0o111 == 0 {
		return nil // git ignores a hook without the executable bit, too
	}
	linkSiblings(hooks)
	// What a door's receive-pack holds must not outlive it in a hook's daemon.
	unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	ctx, cancel := context.WithTimeout(ctx, chainedTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.WaitDelay = time.Second // a child of it may hold its input open
	cmd.Env = withoutCredentials(s.call.Environ)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(s.input), s.call.RawStdout, s.call.RawStderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s, which stood here before Ward's hook, ended with: %w", filepath.Join(filepath.Base(hooks)+chainedSuffix, name), err)
	}
	return nil
}

// linkSiblings links the files of the hook directory next to a chained hook, such as a
// script's lib.sh that was added after init. A missing link shows in the hook's own error.
func linkSiblings(hooks string) {
	entries, err := os.ReadDir(hooks)
	if err != nil {
		return
	}
	for _, e := range entries {
		link := filepath.Join(hooks+chainedSuffix, e.Name())
		if _, err := os.Lstat(link); errors.Is(err, fs.ErrNotExist) && e.Name() != preReceive && e.Name() != postReceive {
			os.Symlink(filepath.Join("..", filepath.Base(hooks), e.Name()), link)
		}
	}
}

// plainHeaders are the request headers that carry no credential; every other
// HTTP_ variable may (Authorization, Cookie, Private-Token, X-Api-Key, ...).
var plainHeaders = []string{
	"HTTP_HOST", "HTTP_USER_AGENT", "HTTP_ACCEPT", "HTTP_ACCEPT_ENCODING", "HTTP_ACCEPT_LANGUAGE", "HTTP_CONTENT_ENCODING",
	"HTTP_CONTENT_LENGTH", "HTTP_CONTENT_TYPE", "HTTP_CONNECTION", "HTTP_PRAGMA", "HTTP_GIT_PROTOCOL", "HTTP_TRANSFER_ENCODING",
	"HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP", "HTTP_X_REQUEST_ID",
}

// withoutCredentials is an environment without a transport's credentials: a door's token, and
// request headers (ID-4).
func withoutCredentials(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		for strings.HasPrefix(name, "REDIRECT_") { // as Apache passes it on
			name = strings.TrimPrefix(name, "REDIRECT_")
		}
		return name == token.TokenVar || strings.HasPrefix(name, "HTTP_") && !slices.Contains(plainHeaders, name) ||
			name == "REMOTE_PASSWORD" || name == "AUTH_PASSWORD" || name == "PHP_AUTH_PW"
	})
}
