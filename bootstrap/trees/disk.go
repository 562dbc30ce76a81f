package trees

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"git-ward/bootstrap/statedir"
)

// fullShare is the free part of the disk below which it counts as full.
const fullShare = 0.05

// ClearDisk makes room on a disk that an agent has filled, before the next one starts, and reports whether
// the disk was full. It removes the agent's other files first, then calls trimLogs, and then removes the
// trees, after rescuing their work if possible. It does this only in the fence, where the disk is the
// agent's own and has nothing that is not in refs.
func (t *Trees) ClearDisk(ctx context.Context, trimLogs func()) bool {
	if !t.Dir.Separate || t.Dir.Free() > fullShare {
		return false
	}
	entries, err := os.ReadDir(t.Dir.Path)
	if err != nil {
		return false
	}
	keep := []string{filepath.Base(t.Dir.Logs()), filepath.Base(t.Dir.Signals()), filepath.Base(t.Dir.Private()), filepath.Base(t.Dir.GitConfig()), "lost+found"}
	var withTrees []string
	for _, e := range entries {
		path := filepath.Join(t.Dir.Path, e.Name())
		switch {
		case slices.Contains(keep, e.Name()):
		case len(t.in(path)) > 0:
			withTrees = append(withTrees, path)
		default:
			t.clear(ctx, path)
		}
	}
	trimLogs()
	for _, dir := range withTrees {
		if t.Dir.Free() > fullShare {
			break
		}
		for _, tree := range t.in(dir) {
			if what, err := t.disarm(ctx, tree); err != nil || what == isPlain {
				t.rescue(ctx, tree, true)
			}
		}
		t.clear(ctx, dir)
	}
	clear(t.Record.Built)
	t.Save()
	return true
}

// in lists the trees in a directory of the state directory: of the branches main and
// agent/D-1, say, whose directories are main and agent.
func (t *Trees) in(dir string) (list []string) {
	parents := []string{dir}
	entries, _ := os.ReadDir(dir) // a file has none
	for _, e := range entries {
		parents = append(parents, filepath.Join(dir, e.Name()))
	}
	for _, parent := range parents {
		if tree := filepath.Join(parent, t.name()); statedir.Exists(filepath.Join(tree, ".git")) {
			list = append(list, tree)
		}
	}
	return list
}

func (t *Trees) clear(ctx context.Context, path string) {
	if err := t.Remove(ctx, path); err != nil {
		t.Log.Error().Err(err).Msg("the disk stays full")
		return
	}
	t.Log.Warn().Str("path", path).Msg("removed, because the disk is full")
}
