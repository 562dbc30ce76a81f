package worker

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/sys/unix"

	"git-ward/agent/reach"
	"git-ward/internal/diag"
	"git-ward/protocols/loop"
)

// signals is what says stop (LOOP-9): the file scratch/STOP on main, on the branch
// or in the working tree, a full disk, and what the loop depends on.
func (r *unitRun) signals(ctx context.Context) []loop.Signal {
	var list []loop.Signal
	if main, err := r.deps.store.Look(ctx); err == nil {
		if _, err := main.File(ctx, loop.StopPath, 1<<20); err == nil {
			list = append(list, loop.Signal{Kind: loop.StopFile, Detail: r.deps.config.Control.Branch})
		}
	}
	if data, err := r.work.File(ctx, loop.StopPath); err == nil && data != nil {
		list = append(list, loop.Signal{Kind: loop.StopFile, Detail: r.work.Branch})
	} else if _, err := os.Lstat(filepath.Join(r.work.Dir(), loop.StopPath)); err == nil {
		list = append(list, loop.Signal{Kind: loop.StopFile, Detail: "the working tree"})
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(r.deps.store.State, &fs); err == nil && loop.DiskOver90(fs.Blocks-fs.Bavail, fs.Blocks) {
		list = append(list, loop.Signal{Kind: loop.DiskFull})
	}
	for _, address := range r.deps.config.Loop.DependsOn {
		if err := reach.Check(ctx, address, httpproxy.FromEnvironment()); err != nil && ctx.Err() == nil {
			list = append(list, loop.Signal{Kind: loop.DependencyDown, Detail: address + ": " + diag.Clean(err.Error())})
		}
	}
	return list
}
