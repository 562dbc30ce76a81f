package git

import "context"

// Push moves refs of a repository on this machine, each a refspec, as a push does and no
// further than forward. via is the command line that is run in place of the other
// repository's `git receive-pack`, "" for that itself.
func (r *Repo) Push(ctx context.Context, to, via string, refspecs ...string) error {
	args := []string{"push", "--quiet", "--no-verify", "--no-signed"}
	if via != "" {
		args = append(args, "--receive-pack="+via)
	}
	cmd := r.writer(ctx, append(append(args, "--", to), refspecs...)...)
	cmd.Env = append(Harden(r.base()), "GIT_ALLOW_PROTOCOL=file")
	var errs beginning
	cmd.Stdout, cmd.Stderr = &errs, &errs
	if err := r.start(cmd); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return childError(ctx, "push", err, errs.data)
	}
	return nil
}
