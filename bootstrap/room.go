package bootstrap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// fullShare is the part of the disk below which it is taken for full.
const fullShare = 0.05

// free is the part of the state directory's disk that can be written.
func (w *watcher) free() float64 {
	var s unix.Statfs_t
	if unix.Statfs(w.State, &s) != nil || s.Blocks == 0 {
		return 1
	}
	return min(float64(s.Bavail)/float64(s.Blocks), float64(s.Ffree+1)/float64(s.Files+1))
}

// makeRoom empties a disk that an agent has filled, before the next one starts: what the agent keeps beside its trees goes first, and then, kept on the
// remote where it can be, its trees. It does so in the fence only, where the disk
// is the agent's own and holds nothing that refs do not.
func (w *watcher) makeRoom(ctx context.Context, t *target) {
	if w.AgentUser == 0 || w.free() > fullShare {
		return
	}
	entries, err := os.ReadDir(w.State)
	if err != nil {
		return
	}
	keep := []string{filepath.Base(w.logs()), filepath.Base(w.signals()), filepath.Base(w.private()), "lost+found"}
	var trees []string
	for _, e := range entries {
		path := filepath.Join(w.State, e.Name())
		found, _ := filepath.Glob(path + "/*/" + w.name + "/.git")
		switch {
		case slices.Contains(keep, e.Name()):
		case len(found) > 0 || exists(filepath.Join(path, w.name, ".git")):
			trees = append(trees, path)
		default:
			w.clear(ctx, path)
		}
	}
	w.trimLogs()
	for _, path := range trees {
		if w.free() > fullShare {
			break
		}
		found, _ := filepath.Glob(path + "/*/" + w.name + "/.git")
		for _, git := range append(found, filepath.Join(path, w.name, ".git")) {
			if exists(git) {
				w.rescue(ctx, filepath.Dir(git), true)
			}
		}
		w.clear(ctx, path)
	}
	clear(w.state.Built)
	w.tell(notice{Status: "GUARD", Kind: "disk", Code: t.code, Branch: t.branch,
		Text: fmt.Sprintf("The agent filled its disk, so that nothing could be started. What it kept beside its trees is removed; %.0f %% of the disk are free.", 100*w.free())})
}

func (w *watcher) clear(ctx context.Context, path string) {
	if err := w.remove(ctx, path); err != nil {
		w.log.Error().Err(err).Msg("no room is made")
		return
	}
	w.log.Warn().Str("path", path).Msg("removed, because the disk is full")
}
