package git

import (
	"context"
	"maps"
	"strings"
)

// said is a repository's cached answer about itself, with the state of its config files then.
type said struct {
	marks    [3]fileMark
	bare     *bool
	settings map[string][]string
}

// said is the cached answer if it is still valid (Keep).
func (r *Repo) said(ctx context.Context) (s said, keep func(said)) {
	k := keeperOf(ctx)
	if k == nil || r.directReader() == nil {
		return s, func(said) {}
	}
	marks := [3]fileMark{{inode: markFile(r.Dir).inode}, markFile(r.Dir + "/config"), markFile(r.Dir + "/config.worktree")}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s = k.said[r.Dir]; s.marks != marks {
		s = said{marks: marks}
	}
	return s, func(now said) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.said[r.Dir] = now
	}
}

// Bare reports whether the repository has no working tree. Git is asked, because a working
// tree's .git may lead anywhere.
func (r *Repo) Bare(ctx context.Context) (bool, error) {
	known, keep := r.said(ctx)
	if known.bare != nil {
		return *known.bare, nil
	}
	out, err := r.Output(ctx, "rev-parse", "--is-bare-repository")
	if err != nil {
		return false, err
	}
	bare := strings.TrimSpace(string(out)) == "true"
	known.bare = &bare
	keep(known)
	return bare, nil
}

// Settings returns the repository's own settings, without included files: values by key as git
// prints it, with section and variable in lower case (git-config(1)).
func (r *Repo) Settings(ctx context.Context) (map[string][]string, error) {
	known, keep := r.said(ctx)
	if known.settings != nil {
		return maps.Clone(known.settings), nil
	}
	all := map[string][]string{}
	for line, err := range r.Records(ctx, "config", "--local", "-z", "--list") {
		if err != nil {
			return nil, err
		}
		key, value, _ := strings.Cut(line, "\n")
		all[key] = append(all[key], value)
	}
	known.settings = all
	keep(known)
	return maps.Clone(all), nil
}
