package worker

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/sys/unix"

	"git-ward/agent/reach"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/schedule"
)

// Signals lists the present stop signals (LOOP-9): scratch/STOP, a full disk, and a dependency that is down.
func (r *unitRun) Signals(ctx context.Context) []loop.Signal {
	var list []loop.Signal
	if where := r.stopFile(ctx); where != "" {
		list = append(list, loop.Signal{Kind: loop.StopFile, Detail: where})
	}
	return append(list, r.pressure(ctx)...)
}

// stopFile is the places of scratch/STOP, "" for none: the control branch and, if the project
// has that branch to itself, also the work's branch and the working tree. In an adopted
// project the file would be the project's own.
func (r *unitRun) stopFile(ctx context.Context) string {
	control := r.deps.config.Control
	reader := git.Open(r.deps.store.Bare).Reader(ctx)
	defer reader.Close()
	if there, err := schedule.Stop(reader, control.Ref()); err == nil && there {
		return control.Branch
	}
	if control.Split() {
		return ""
	}
	if there, err := schedule.Stop(reader, "refs/heads/"+r.work.Branch); err == nil && there {
		return r.work.Branch
	}
	if _, err := os.Lstat(filepath.Join(r.work.Dir(), loop.StopPath)); err == nil {
		return "the working tree"
	}
	return ""
}

// pressure reads the machine's stop signals.
func (r *unitRun) pressure(ctx context.Context) (list []loop.Signal) {
	var fs unix.Statfs_t
	if err := unix.Statfs(r.deps.store.State, &fs); err == nil && loop.DiskOver90(disk(fs)) {
		list = append(list, loop.Signal{Kind: loop.DiskFull})
	}
	for _, address := range r.deps.config.Loop.DependsOn {
		if err := reach.Check(ctx, address, httpproxy.FromEnvironment()); err != nil && ctx.Err() == nil {
			list = append(list, loop.Signal{Kind: loop.DependencyDown, Detail: address + ": " + diag.Clean(err.Error())})
		}
	}
	return list
}

// disk is the used and total blocks as in df(1), without blocks reserved for root or beyond a
// quota.
func disk(fs unix.Statfs_t) (used, total uint64) {
	used = fs.Blocks - fs.Bfree
	return used, used + fs.Bavail
}
