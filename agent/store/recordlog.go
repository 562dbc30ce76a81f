package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/protocols/record"
)

// RecordCommit is one commit of a record.
type RecordCommit struct {
	ID      string
	Parent  string // "" of the root
	Second  string // the commit of the work that it speaks of, "" for none
	Message string
	Time    time.Time
}

// Log lists the record's commits by their first parents, the newest first: at most
// limit of them, 0 for all.
func (r *Record) Log(ctx context.Context, limit int) ([]RecordCommit, error) {
	return r.history(ctx, func(list []RecordCommit) bool { return limit > 0 && len(list) >= limit })
}

// history is Log until enough returns true.
func (r *Record) history(ctx context.Context, enough func([]RecordCommit) bool) ([]RecordCommit, error) {
	var list []RecordCommit
	for id := r.tip; id != "" && !enough(list); {
		_, data, err := r.objects(ctx).Read(id, recordSize)
		if err != nil {
			r.close()
			return nil, err
		}
		c, err := git.ParseCommit(data)
		if err = git.Forgive(err); err != nil {
			return nil, err
		}
		entry := RecordCommit{ID: id, Message: c.Text(c.Message), Time: committed(c)}
		if len(c.Parents) > 0 {
			entry.Parent = c.Parents[0]
		}
		if len(c.Parents) > 1 {
			entry.Second = c.Parents[1]
		}
		list, id = append(list, entry), entry.Parent
	}
	return list, nil
}

// kept is the newest local commit of those directly on top of the remote's that have plans or
// plan steps: an earlier run's completed work. Other unpushed commits are dropped with what
// follows them, and made again.
//
// If that run told the PM why it stopped (MANY-2), the remote has a newer commit with only
// that message, and plans and steps are rebased on it. If anything else came meanwhile,
// another worker worked and they are dropped; likewise if another clone has kept a tree since.
func (r *Record) kept(ctx context.Context) (string, error) {
	if elsewhere, err := r.work.keptElsewhere(ctx, r.id); elsewhere || err != nil {
		return r.remote, err
	}
	base, err := r.sharedWith(ctx, r.remote)
	if err != nil || base == "" {
		return r.remote, err
	}
	list, err := r.history(ctx, func(list []RecordCommit) bool {
		return len(list) > 0 && list[len(list)-1].Parent == base || len(list) >= markerDepth
	})
	if err != nil || len(list) == 0 || list[len(list)-1].Parent != base {
		return r.remote, err
	}
	first := len(list)
	for first > 0 && list[first-1].ofPlan() {
		first--
	}
	if list = list[first:]; len(list) == 0 {
		return r.remote, nil
	}
	if base == r.remote {
		return list[0].ID, nil
	}
	err = r.replay(ctx, list, r.remote)
	return r.tip, err
}

// sharedWith is the newest common commit of a remote commit and the local ones, "" if the
// remote has more since than messages to the PM.
func (r *Record) sharedWith(ctx context.Context, remote string) (string, error) {
	base, err := r.work.clone.git(ctx, "merge-base", remote, r.tip)
	if git.SaidNo(err) {
		return "", nil
	}
	if err != nil || base == remote {
		return base, err
	}
	files, err := r.difference(ctx, base, remote)
	for name := range files {
		if !strings.HasPrefix(name, record.Messages+"/") {
			return "", err
		}
	}
	return base, err
}

// treeOf is the tree of a commit.
func (r *Record) treeOf(ctx context.Context, commit string) (string, error) {
	object, _, err := r.objects(ctx).Read(commit+"^{tree}", recordSize)
	return object.ID, err
}

// committed is when a commit was made, by its committer's line.
func committed(c *git.Commit) time.Time {
	_, stamp, _ := strings.Cut(c.Committer, "> ")
	seconds, _, _ := strings.Cut(stamp, " ")
	n, _ := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(n, 0).UTC()
}
