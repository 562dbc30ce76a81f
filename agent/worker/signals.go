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

// signals is what says stop (LOOP-9): the file scratch/STOP on the control branch, a full
// disk, and what the loop depends on. Where the project has the branch to itself, the
// file counts on the work's branch and in the working tree, too: in an adopted project
// it would be the project's own.
func (r *unitRun) signals(ctx context.Context) []loop.Signal {
	var list []loop.Signal
	if main, err := r.deps.store.Look(ctx); err == nil {
		if _, err := main.File(ctx, loop.StopPath, 1<<20); err == nil {
			list = append(list, loop.Signal{Kind: loop.StopFile, Detail: r.deps.config.Control.Branch})
		}
	}
	if r.deps.config.Control.Split() {
		return append(list, r.pressure(ctx)...)
	}
	if data, err := r.work.File(ctx, loop.StopPath); err == nil && data != nil {
		list = append(list, loop.Signal{Kind: loop.StopFile, Detail: r.work.Branch})
	} else if _, err := os.Lstat(filepath.Join(r.work.Dir(), loop.StopPath)); err == nil {
		list = append(list, loop.Signal{Kind: loop.StopFile, Detail: "the working tree"})
	}
	return append(list, r.pressure(ctx)...)
}

// pressure is what of the machine and the world says stop.
func (r *unitRun) pressure(ctx context.Context) (list []loop.Signal) {
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
