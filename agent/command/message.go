package command

import (
	"cmp"
	"context"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/comms"
)

// inform appends an INFO report to COMMS.md of origin's control branch, once for each key,
// about the directive of the worker's lease, "" for none. Working tree and index stay as they
// are.
func inform(ctx context.Context, tree *worktree.Tree, lease, text, key string) error {
	names, err := tree.Branches(ctx)
	if err != nil {
		return err
	}
	control := names.Control.Ref()
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
		report := comms.NewReport{Time: time.Now(), Directive: cmp.Or(lease, "-"), Status: comms.Info, Text: key + "\n\n" + text}
		amended, err := comms.Amend(data, report, comms.Answers(comms.MaxAnswers))
		if err != nil {
			return false, err
		}
		commit, err := commitFile(ctx, tree, main, amended.Data)
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

// commitFile makes a commit that replaces COMMS.md in its parent. Its author is git's
// committer.
func commitFile(ctx context.Context, tree *worktree.Tree, parent string, data []byte) (string, error) {
	who, err := tree.Git(ctx, "var", "GIT_COMMITTER_IDENT")
	if err != nil {
		return "", err
	}
	repo, err := tree.Repo(ctx)
	if err != nil {
		return "", err
	}
	batch := repo.Batch(ctx)
	defer batch.Close()
	who = who[:strings.LastIndexByte(who, '>')+1] // a time follows
	return batch.Commit(who, parent, map[string][]byte{comms.Path: data}, time.Now(), "comms: an INFO report")
}
