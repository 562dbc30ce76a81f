package fsck

import (
	"context"
	"strings"

	"git-ward/internal/git"
)

// spoken is a commit of a record's own line, with its changes.
type spoken struct {
	id      string
	parents []string
	changes []change
}

// change is one path of a commit, as it is after it.
type change struct {
	path string
	mode string // as git prints it; "000000" for one that is gone
}

// line reads a record's commits from its tip by first parents, newest first, with one child of
// git; only visit stores anything.
func line(ctx context.Context, repo *git.Repo, tip string, visit func(spoken) error) error {
	var c spoken
	head := "" // of a change, before its path
	for piece, err := range repo.Records(ctx, "log", "-z", "--raw", "--no-abbrev", "--no-renames", "--first-parent", "--diff-merges=first-parent", "--root",
		"--no-show-signature", "--no-notes", "--no-mailmap", "--no-color", "--format=%x01%H %P", "--end-of-options", tip, "--") {
		if err != nil {
			return err
		}
		if head != "" {
			_, rest, _ := strings.Cut(head, " ")
			mode, _, _ := strings.Cut(rest, " ")
			c.changes, head = append(c.changes, change{piece, mode}), ""
			continue
		}
		if words, ok := strings.CutPrefix(piece, "\x01"); ok {
			if c.id != "" {
				if err := visit(c); err != nil {
					return err
				}
			}
			ids := strings.Fields(words)
			c = spoken{id: ids[0], parents: ids[1:]}
			continue
		}
		head = strings.TrimPrefix(piece, "\n")
	}
	if c.id == "" {
		return nil
	}
	return visit(c)
}
