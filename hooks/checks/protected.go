package checks

import (
	"slices"

	"git-ward/hooks/push"
	"git-ward/hooks/walk"
	"git-ward/internal/diag"
	"git-ward/internal/filename"
	"git-ward/internal/git"
)

var protectedCheck = Check{
	Name: "protected",
	Doc: "Keeps paths that run code or steer tools on people's machines the PM's on every ref: at an agent's tip " +
		"they equal those of a commit of main that is not older than the merge base. The commits on the way there are held to it, too: once " +
		"merged, they are commits of main. A merge by the PM that brings a change of them is named to the PM.",
	Rules: []string{"rights/protected", "comms/agent-directives"},
	Whole: judgeIntermediate,
	Tip: func(pass *Pass, t *walk.Tip) error {
		switch {
		case pass.Push.Principal == push.PM && pass.Push.isMain(t.Ref):
			return warnOfMerge(pass, t)
		case !pass.Push.Principal.Fenced(), t.Base == "": // without a base it is refused already
			return nil
		}
		return judgeProtected(pass, t)
	},
}

// judgeProtected checks that the tip of a ref pushed from inside the fence has main's version
// of protected paths.
func judgeProtected(pass *Pass, t *walk.Tip) error {
	list := pass.Protected()
	if pass.Push.isMain(t.Ref) {
		rights := pass.Push.Config.Rights
		list = filename.NewList(slices.Concat(rights.Protected, rights.ProtectedOnMain)...)
	}
	touched := coveredBy(list, t.Changes)
	if len(touched) == 0 && !t.Merges {
		return nil
	}
	same, err := likeMain(pass, t.History, t.New, func(tree string) (bool, error) {
		changed, err := firstChange(pass, tree, t.Commit.Tree, covered(list))
		return changed == "", err
	})
	if err != nil || same {
		return err
	}
	if len(touched) == 0 {
		path, err := unlikeMain(pass, t, list)
		if err != nil {
			return err
		}
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: path}, Ref: t.Ref, Rule: "rights/protected",
			Message: "a merge kept a protected path older than the main that it merged",
			Hint:    mainVersion(pass, t.History, path)})
	}
	for _, c := range touched {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: c.Path}, Ref: t.Ref, Rule: "rights/protected",
			Message: "only the PM may change this path",
			Hint:    mainVersion(pass, t.History, c.Path)})
	}
	return nil
}

func coveredBy(list *filename.List, changes []walk.Change) (touched []walk.Change) {
	for _, c := range changes {
		if list.Covers(c.Path) {
			touched = append(touched, c)
		}
	}
	return touched
}

// warnOfMerge warns the PM of protected paths that a merge into main changes, by a member's
// commit or in the merge itself.
func warnOfMerge(pass *Pass, t *walk.Tip) error {
	if !t.Merges {
		return nil
	}
	touched := coveredBy(pass.Protected(), t.Changes)
	if len(touched) == 0 {
		return nil
	}
	args := []string{"--merges", "--max-count=1", t.New}
	if t.Old != git.Zero {
		args = append(args, "^"+t.Old)
	}
	if merges, err := pass.Repo.RevList(args...); err != nil || len(merges) == 0 {
		return err
	}
	for _, c := range touched {
		pass.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: c.Path}, Ref: t.Ref, Rule: "rights/protected", Severity: diag.Warning,
			Message: "the merge changes a path that runs code or steers tools on people's machines",
			Hint:    "look at it: git diff " + diag.Short(t.Base) + " " + diag.Short(t.New) + " -- " + c.Path})
	}
	return nil
}

// unlikeMain is a listed path in which a tip differs from main, "" for none.
func unlikeMain(pass *Pass, t *walk.Tip, list *filename.List) (string, error) {
	tip := pass.Repo.Main(t.History)
	if tip == "" {
		return "", nil
	}
	main, err := pass.Repo.Commit(tip)
	if err != nil {
		return "", err
	}
	return firstChange(pass, main.Tree, t.Commit.Tree, covered(list))
}
