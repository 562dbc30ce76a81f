package checks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/config"
	"git-ward/internal/git"
)

// Past is a project's history, judged as if it were pushed now: each commit as its own push on
// top of its first parent (CTRL-2).
type Past struct {
	Principal push.Principal
	Config    *config.Config // by which; [hooks] mode "observe" is none of it
	Ref       string         // the full name of the branch that it would be pushed to: the project's, or refs/heads/agent/NAME for the agent
	Commits   []string       // object ids
}

// JudgePast judges commits of the past; visit hears of each one's result, in their order,
// and its error ends it. Any other error is trouble. It checks only what a commit and its
// parents show: no names of refs, and no rights to them. Batch is a child of repo.
func JudgePast(ctx context.Context, repo *git.Repo, batch *git.Batch, past Past, visit func(commit string, r *Result) error) error {
	enforced := *past.Config
	enforced.Hooks.Mode = config.Enforce
	past.Config = &enforced
	walker, err := walk.New(ctx, repo, batch, "refs/heads/", enforced.Control, limits(&enforced))
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(past.Commits, walk.AheadOf) {
		err := walker.Past(past.Ref, ids, func(id string, c *walk.Commit, err error) error {
			r, err := past.judge(ctx, walker, id, c, err)
			if err != nil {
				return fmt.Errorf("commit %.12s: %w", id, err)
			}
			return visit(id, r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// judge judges one commit, or says why it is unreadable.
func (p *Past) judge(ctx context.Context, walker *walk.Walker, id string, c *walk.Commit, unread error) (*Result, error) {
	parent := ""
	if unread == nil {
		parent = strings.Join(c.Parents[:min(1, len(c.Parents))], "")
	}
	walker = walker.At(parent)
	u := push.Update{Ref: p.Ref, Old: cmp.Or(parent, git.Zero), New: id}
	j := newJudgement(ctx, walker, &Push{Principal: p.Principal, Updates: []push.Update{u}, Config: p.Config, Branches: "refs/heads/"})
	if unread != nil {
		return j.conclude(unread)
	}
	if err := j.commits([]*walk.Commit{c}); err != nil || j.stopped || parent == "" && p.Principal.Fenced() {
		return j.conclude(err) // no agent makes a root
	}
	t := &walk.Tip{Update: u, Commit: c.Commit, History: c.History, Base: parent, Forward: true}
	t.Beside = parent == ""
	return j.conclude(j.tip(t))
}
