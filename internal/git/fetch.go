package git

import (
	"context"
	"os"
)

// Fetch brings refs, each a refspec, from the upload-pack at the other end of a socket, and
// removes what is no longer there. The caller has chosen who answers, so no address and no
// transport is named here (git-remote-fd(1)).
func (r *Repo) Fetch(ctx context.Context, from *os.File, refspecs ...string) error {
	args := []string{"fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--", "fd::3"}
	cmd := r.writer(ctx, append(args, refspecs...)...)
	cmd.Env = append(Harden(r.base()), "GIT_ALLOW_PROTOCOL=fd")
	cmd.ExtraFiles = []*os.File{from} // which is 3 there
	var errs beginning
	cmd.Stdout, cmd.Stderr = &errs, &errs
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return ChildError(ctx, "fetch", err, errs.data)
	}
	return nil
}
