package git

import (
	"context"

	"git-ward/internal/lines"
)

// Push pushes refspecs to a repository on this machine, fast-forward only. via is a command
// line to run instead of the other repository's `git receive-pack`, "" for the default.
func (r *Repo) Push(ctx context.Context, to, via string, refspecs ...string) error {
	args := []string{"--quiet"}
	if via != "" {
		args = append(args, "--receive-pack="+via)
	}
	_, err := r.push(ctx, nil, append(append(args, "--", to), refspecs...))
	return err
}

// PushAs is Push with additional environment for the other repository's receive-pack, such as
// a token (internal/token), and with push options. It returns the first maxSaid bytes of the
// push's output.
func (r *Repo) PushAs(ctx context.Context, environ, options []string, to string, refspecs ...string) (said []byte, err error) {
	args := []string{"--quiet"}
	for _, option := range options {
		args = append(args, "--push-option="+option)
	}
	return r.push(ctx, environ, append(append(args, "--", to), refspecs...))
}

// maxSaid bounds the output that is read from a push, in bytes: a gate's findings fit.
const maxSaid = 256 << 10

func (r *Repo) push(ctx context.Context, environ, args []string) ([]byte, error) {
	cmd := r.writer(ctx, append([]string{"push", "--no-verify", "--no-signed"}, args...)...)
	cmd.Env = append(append(Harden(r.base()), "GIT_ALLOW_PROTOCOL=file"), environ...)
	said := lines.Head{Most: maxSaid}
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return said.Bytes(), ChildError(ctx, "push", err, said.Bytes())
	}
	return said.Bytes(), nil
}
