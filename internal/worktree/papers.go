package worktree

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"git-ward/internal/diag"
)

// Papers is the directory in which the agent's working clone shows its unit's record
// (REC-1), and papersKey the setting of the clone that says so. Git has both by
// .git/info/exclude, and no commit has them.
const (
	Papers    = ".ward"
	papersKey = "ward.record"
)

// PapersDir is Papers in the agent's working clone, and "" in a clone of a person's,
// where plans, post-mortems and lessons lie at the top of the tree.
func (t *Tree) PapersDir(ctx context.Context) (string, error) {
	if t.papers != nil {
		return *t.papers, nil
	}
	dir, err := t.Git(ctx, "config", "--local", "--get", papersKey)
	var end *GitError
	switch {
	case errors.As(err, &end) && end.Code == 1:
		dir = ""
	case err != nil:
		return "", err
	case dir != Papers:
		return "", diag.Hint(fmt.Errorf("git config %s is %q, which it cannot be", papersKey, dir), "git config --unset %s", papersKey)
	}
	t.papers = &dir
	return dir, nil
}

// Paper is where a paper of the record, such as postmortems/2026-11-22-D-1.md, lies in
// this tree.
func (t *Tree) Paper(ctx context.Context, name string) (string, error) {
	dir, err := t.PapersDir(ctx)
	return path.Join(dir, name), err
}

// IsPaper reports whether a path of the tree is below Papers.
func IsPaper(name string) bool { return name == Papers || strings.HasPrefix(name, Papers+"/") }
