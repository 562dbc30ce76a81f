package command

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
)

// inform puts an INFO report at the end of COMMS.md of origin's control branch, once for
// each key. The working tree is left alone: the commit is built in an index of
// its own.
func inform(ctx context.Context, tree *worktree.Tree, text, key string) error {
	index, err := scratch.Make("", "index-")
	if err != nil {
		return err
	}
	defer index.Remove()
	names, err := tree.Branches(ctx)
	if err != nil {
		return err
	}
	control := names.Control.Ref()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(index.Path, "index")}
	return git.Update(ctx, git.Race{What: names.Branch, While: "a report was pushed"}, func() (bool, error) {
		if _, err := tree.Git(ctx, "fetch", "--quiet", "origin", control); err != nil {
			return false, err
		}
		main, err := tree.Git(ctx, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
		if err != nil {
			return false, err
		}
		data, err := tree.GitInput(ctx, nil, nil, "cat-file", "blob", main+":"+comms.Path)
		if err != nil || strings.Contains(string(data), "\n"+key+"\n") {
			return true, err // it was delivered before
		}
		report := comms.NewReport{Time: time.Now(), Directive: "-", Status: comms.Info, Text: key + "\n\n" + text}
		amended, err := comms.Amend(data, report, comms.Answers(comms.MaxAnswers))
		if err != nil {
			return false, err
		}
		commit, err := commitFile(ctx, tree, env, main, amended.Data)
		if err != nil {
			return false, err
		}
		_, pushErr := tree.Git(ctx, "push", "--quiet", "origin", commit+":"+control)
		if pushErr == nil {
			return true, nil
		}
		if now, err := tree.Git(ctx, "ls-remote", "origin", control); err != nil || strings.HasPrefix(now, main) {
			return false, pushErr
		}
		return false, nil
	})
}

// commitFile makes a commit on another one that replaces COMMS.md.
func commitFile(ctx context.Context, tree *worktree.Tree, env []string, parent string, data []byte) (string, error) {
	run := func(stdin []byte, args ...string) (string, error) {
		out, err := tree.GitInput(ctx, env, stdin, args...)
		return strings.TrimSpace(string(out)), err
	}
	if _, err := run(nil, "read-tree", parent); err != nil {
		return "", err
	}
	blob, err := run(data, "hash-object", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	if _, err := run(nil, "update-index", "--cacheinfo", "100644,"+blob+","+comms.Path); err != nil {
		return "", err
	}
	id, err := run(nil, "write-tree")
	if err != nil {
		return "", err
	}
	return run([]byte("comms: report - INFO\n"), "commit-tree", id, "-p", parent, "-F", "-")
}
