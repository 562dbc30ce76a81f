package git

import (
	"context"
	"os"

	"git-ward/internal/lines"
)

// Fetch fetches and prunes refspecs from the upload-pack at the other end of a socket
// (git-remote-fd(1)). The caller has chosen the peer, so no address and no transport is named
// here.
func (r *Repo) Fetch(ctx context.Context, from *os.File, refspecs ...string) error {
	args := []string{"fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", "--", "fd::3"}
	cmd := r.writer(ctx, append(args, refspecs...)...)
	cmd.Env = append(Harden(r.base()), "GIT_ALLOW_PROTOCOL=fd")
	cmd.ExtraFiles = []*os.File{from} // which is 3 there
	var errs lines.Head
	cmd.Stdout, cmd.Stderr = &errs, &errs
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return ChildError(ctx, "fetch", err, errs.Bytes())
	}
	return nil
}
