package checks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/record"
)

// discover finds the tips and the new commits, oldest first: exactly those that no judged
// branch reaches (GATE-2). Each history is walked separately: a commit that is known in one of
// them, or only to a record or journal, is not known to the others.
func (j *judgement) discover() (tips []*walk.Tip, fresh []*walk.Commit, err error) {
	of, err := j.peel()
	if err != nil || j.stopped {
		return nil, nil, err
	}
	for _, h := range []push.History{push.Undivided, push.Control, push.Project} {
		found, err := j.fresh(h, of[h])
		if err != nil {
			return nil, nil, err
		}
		tips, fresh = append(tips, of[h]...), append(fresh, found...)
	}
	for _, t := range of[push.Records] {
		works, found, err := j.record(t)
		if err != nil {
			return nil, nil, err
		}
		tips, fresh = append(append(tips, works...), t), append(append(fresh, found...), t.Steps...)
	}
	for _, t := range of[push.Journals] {
		if err := journalSteps(j.pass, t); err != nil {
			return nil, nil, err
		}
		tips, fresh = append(tips, t), append(fresh, t.Steps...)
	}
	return tips, fresh, nil
}

// peel follows each update to its commit.
func (j *judgement) peel() (of map[push.History][]*walk.Tip, err error) {
	of = map[push.History][]*walk.Tip{}
	for _, u := range j.pass.Push.Updates {
		if u.New == git.Zero {
			continue
		}
		tip, err := j.walker.Peel(u, j.tag)
		switch {
		case errors.Is(err, walk.ErrNoCommit):
			j.pass.Report(diag.Diagnostic{Ref: u.Ref, Rule: "ref/object", Message: err.Error(), Hint: "point branches and tags at commits only"})
			j.stopped = true
		case err != nil:
			if !j.bad(&walk.Commit{ID: u.New, Ref: u.Ref}, err) {
				return nil, err
			}
		default:
			of[tip.History] = append(of[tip.History], tip)
		}
	}
	return of, nil
}

// fresh finds the new commits of one history's tips. If the project is separate from control,
// its tags and notes may point into both: they do not bring what any branch has.
func (j *judgement) fresh(h push.History, tips []*walk.Tip) ([]*walk.Commit, error) {
	known := j.known(h)
	if h != push.Project {
		return j.freshOf(tips, known)
	}
	branches, others := tips, []*walk.Tip(nil)
	if i := slices.IndexFunc(tips, func(t *walk.Tip) bool { return !push.IsBranch(t.Ref) }); i >= 0 {
		branches = nil
		for _, t := range tips {
			if push.IsBranch(t.Ref) {
				branches = append(branches, t)
			} else {
				others = append(others, t)
			}
		}
	}
	found, err := j.freshOf(branches, known)
	if err != nil || len(others) == 0 {
		return found, err
	}
	more, err := j.freshOf(others, walk.Known{Globs: []string{"*"}, Commits: j.branchTips()})
	return append(found, more...), err
}

func (j *judgement) freshOf(tips []*walk.Tip, known walk.Known) ([]*walk.Commit, error) {
	if len(tips) == 0 {
		return nil, nil
	}
	return j.walker.Fresh(tips, known)
}

// branchTips are the commits to which the push moves branches.
func (j *judgement) branchTips() (ids []string) {
	for _, u := range j.pass.Push.Updates {
		if push.IsBranch(u.Ref) && u.New != git.Zero {
			ids = append(ids, u.New)
		}
	}
	return ids
}

// known are the branches, besides a history's main, whose commits need not be judged again for
// the principal. What passed as the PM's was not judged by the agent's or the watcher's rules;
// what passed as the project's was not judged as Ward's documents.
func (j *judgement) known(h push.History) (known walk.Known) {
	switch who := j.pass.Push.Principal; {
	case who != push.PM && who != push.Member && who != push.Agent:
		return known
	case h == push.Control:
		return walk.Known{Globs: []string{push.LessonsGlob}}
	case who == push.Agent:
		known.Globs = []string{"agent/*", "rescue/*"}
	default:
		known.Globs = []string{"*"}
	}
	if h == push.Project {
		known.Except = []string{j.pass.Push.Config.Control.Branch, push.LessonsGlob}
	}
	return known
}

// maxWorks bounds the work that one push brings with a record outside its branches: each is
// compared like a branch of its own. An agent's is all in one line.
const maxWorks = 100

// record finds a record's new commits, which are added to it, and the work that they name and
// no branch brings: it is judged as if pushed to the directive's branch. What the record named
// before was judged before.
func (j *judgement) record(t *walk.Tip) (works []*walk.Tip, found []*walk.Commit, err error) {
	id, err := record.ParseRef(t.Ref)
	if err != nil {
		return nil, nil, nil // Ref has said so
	}
	if err := recordSteps(j.pass, t); err != nil {
		return nil, nil, err
	}
	branch := "refs/heads/agent/" + id.Directive
	history := push.HistoryOf(j.pass.Push.Config.Control, branch)
	known := j.known(history)
	if t.Old != git.Zero {
		known.Commits = []string{t.Old}
	}
	old, err := j.walker.Tip(j.pass.Push.Branches + "agent/" + id.Directive)
	if err != nil {
		return nil, nil, err
	}
	for _, commit := range walk.Works(t.Steps) {
		if j.walker.Found(history, commit) {
			continue
		}
		tip, err := j.walker.Peel(push.Update{Ref: branch, Old: cmp.Or(old, git.Zero), New: commit}, j.tag)
		if err != nil {
			return nil, nil, err
		}
		tip.Beside = true
		more, err := j.walker.Fresh([]*walk.Tip{tip}, known)
		if err != nil {
			return nil, nil, err
		}
		if len(more) > 0 {
			works, found = append(works, tip), append(found, more...)
		}
		if len(works) > maxWorks {
			return nil, nil, &walk.Exceeded{Message: fmt.Sprintf("the new commits of %s speak of more than %d works that do not stand on one another", diag.Clean(t.Ref), maxWorks)}
		}
	}
	return works, found, nil
}
