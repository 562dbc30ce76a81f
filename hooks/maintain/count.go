package maintain

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"git-ward/hooks/audit"
	"git-ward/internal/git"
	"git-ward/internal/growth"
)

// count is the disk usage of the agent's pushes, in bytes: all objects except those that
// people's refs reach or reached. If the agent may push to such a ref, what it brought there
// counts until a person's next push to it.
func count(ctx context.Context, repo *git.Repo, chain []audit.Link) (bytes int64, err error) {
	sizes, err := sizes(ctx, repo)
	if err != nil {
		return 0, err
	}
	tips, err := peoples(ctx, repo, chain)
	if err != nil {
		return 0, err
	}
	out, err := repo.OutputFrom(ctx, tips, "rev-list", "--objects", "--no-object-names", "--ignore-missing", "--stdin")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(out)) {
		if i, ok := parseID(strings.TrimSpace(line)); ok {
			delete(sizes, i)
		}
	}
	former, err := formerly(ctx, repo, chain)
	for i := range former {
		delete(sizes, i)
	}
	for _, n := range sizes {
		bytes += n
	}
	return bytes, err
}

// formerly are the unreachable objects of people's former tips: git keeps them for a while,
// and they are not the agent's.
func formerly(ctx context.Context, repo *git.Repo, chain []audit.Link) (set, error) {
	loose, err := unreached(ctx, repo)
	if err != nil || len(loose) == 0 {
		return nil, err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	_, others := brought(chain)
	return closure(batch, loose, others)
}

// peoples are the values of refs as people and the host left them, one a line.
func peoples(ctx context.Context, repo *git.Repo, chain []audit.Link) ([]byte, error) {
	last, byThem := map[string]string{}, map[string]bool{}
	for _, l := range chain {
		for _, ref := range l.Refs {
			if ref.Applied {
				name := audit.UnquoteRef(ref.Ref)
				if byThem[name] = byAgent(l.Principal); !byThem[name] {
					last[name] = ref.New
				}
			}
		}
	}
	tips, err := repo.Refs(ctx, "refs/")
	var list bytes.Buffer
	for _, tip := range tips {
		switch {
		case agents(tip.Name):
		case !byThem[tip.Name]:
			list.WriteString(tip.ID + "\n")
		case last[tip.Name] != "" && last[tip.Name] != git.Zero:
			list.WriteString(last[tip.Name] + "\n")
		}
	}
	return list.Bytes(), err
}

// sizes are all objects with what they take of the disk: a loose one whole blocks, a
// packed one its part of the pack.
func sizes(ctx context.Context, repo *git.Repo) (map[id]int64, error) {
	all := map[id]int64{}
	for line, err := range repo.Lines(ctx, "cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname) %(objectsize:disk)") {
		if err != nil {
			return nil, err
		}
		name, text, _ := strings.Cut(line, " ")
		n, err := strconv.ParseInt(text, 10, 64)
		if i, ok := parseID(name); ok && err == nil {
			all[i] = n
		}
	}
	for fan := range 256 {
		dir := filepath.Join(repo.Dir, "objects", string("0123456789abcdef"[fan>>4])+string("0123456789abcdef"[fan&15]))
		files, err := os.ReadDir(dir)
		if err != nil {
			continue // there is none
		}
		for _, f := range files {
			i, ok := parseID(filepath.Base(dir) + f.Name())
			if info, err := f.Info(); ok && err == nil {
				all[i] = growth.Disk(info)
			}
		}
	}
	return all, nil
}
