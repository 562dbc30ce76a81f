package git

import (
	"context"
)

// Push moves refs of a repository on this machine, each a refspec, as a push does and no
// further than forward. via is the command line that is run in place of the other
// repository's `git receive-pack`, "" for that itself.
func (r *Repo) Push(ctx context.Context, to, via string, refspecs ...string) error {
	args := []string{"--quiet"}
	if via != "" {
		args = append(args, "--receive-pack="+via)
	}
	_, err := r.push(ctx, nil, append(append(args, "--", to), refspecs...))
	return err
}

// PushAs is Push with more in the environment of the other repository's receive-pack, such
// as a token (internal/token), and with push options. It gives what was said on the way, the
// first maxSaid bytes of it.
func (r *Repo) PushAs(ctx context.Context, environ, options []string, to string, refspecs ...string) (said []byte, err error) {
	args := []string{"--quiet"}
	for _, option := range options {
		args = append(args, "--push-option="+option)
	}
	return r.push(ctx, environ, append(append(args, "--", to), refspecs...))
}

// maxSaid bounds what a push is heard to say, in bytes: a gate's findings fit.
const maxSaid = 256 << 10

func (r *Repo) push(ctx context.Context, environ, args []string) ([]byte, error) {
	cmd := r.writer(ctx, append([]string{"push", "--no-verify", "--no-signed"}, args...)...)
	cmd.Env = append(append(Harden(r.base()), "GIT_ALLOW_PROTOCOL=file"), environ...)
	said := beginning{most: maxSaid}
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return said.data, ChildError(ctx, "push", err, said.data)
	}
	return said.data, nil
}
