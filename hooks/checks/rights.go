package checks

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

var rightsCheck = Check{
	Name: "rights",
	Doc: "Holds the agent to its own branches and, on main, to Reports and Questions of COMMS.md by fast-forward " +
		"(HOOK-4). Nobody's history may come from nowhere unseen: a branch without a merge base with main is the PM's to make.",
	Ref: func(r *Run, u Update) {
		if r.Principal != Agent || agentBranch(u.Ref) || journal(u.Ref) {
			return
		}
		if u.Ref != "refs/heads/main" {
			r.Report(diag.Diagnostic{Ref: u.Ref, Rule: "rights/ref", Message: "the agent may not push this ref",
				Hint: "push to agent/<name> or rescue/<name>; main takes your reports in COMMS.md only"})
		}
	},
	Tip: func(r *Run, t *Tip) error {
		onMain := t.Ref == "refs/heads/main"
		rewrite := onMain && t.Old != git.Zero && !t.Forward
		if r.Principal == PM {
			if rewrite {
				r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/rewrite", Severity: diag.Warning,
					Message: "main was rewritten: commits that others have are gone from it",
					Hint:    "the audit (git ward log) still names the old tip " + diag.Short(t.Old)})
			}
			return nil
		}
		if t.Base == "" {
			r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/merge-base", Message: "shares no history with main",
				Hint: "start the branch from main: git switch -c agent/<name> origin/main"})
			return nil
		}
		if rewrite {
			r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/rewrite", Message: "the agent moves main by fast-forward only",
				Hint: "fetch, rebase on origin/main, push without force"})
		}
		if onMain {
			return r.mergeRight(t)
		}
		return r.countBranches(t)
	},
}

// countBranches bounds how many branches the agent has, when it makes one more.
func (r *Run) countBranches(t *Tip) error {
	if t.Old != git.Zero || !r.Received {
		return nil
	}
	out, err := r.repo.Output(r.ctx, "for-each-ref", "--format=%(refname)",
		fmt.Sprintf("--count=%d", r.Config.Rights.AgentBranches+1), "refs/heads/agent/", "refs/heads/rescue/")
	if err != nil {
		return err
	}
	have := strings.Fields(string(out))
	for _, u := range r.Updates { // new ones of this push count, too
		if agentBranch(u.Ref) && u.Old == git.Zero && u.New != git.Zero && !slices.Contains(have, u.Ref) {
			have = append(have, u.Ref)
		}
	}
	if len(have) > r.Config.Rights.AgentBranches {
		r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/branches",
			Message: fmt.Sprintf("the agent would have more than %d branches", r.Config.Rights.AgentBranches),
			Hint:    "delete one that is done: git push origin --delete agent/<name>"})
	}
	return nil
}

var protectedCheck = Check{
	Name: "protected",
	Doc: "Keeps paths that run code or steer tools on people's machines the PM's on every ref: at an agent's tip " +
		"they equal those of a commit of main that is not older than the merge base.",
	Tip: func(r *Run, t *Tip) error {
		if r.Principal != Agent || t.Base == "" {
			return nil
		}
		paths := slices.Clone(r.Config.Rights.Protected)
		if t.Ref == "refs/heads/main" {
			paths = append(paths, r.Config.Rights.ProtectedOnMain...)
		}
		var touched []Change
		for _, c := range t.Changes {
			if covers(paths, c.Path) {
				touched = append(touched, c)
			}
		}
		if len(touched) == 0 && !t.Merges {
			return nil
		}
		same, err := r.someMain(t, func(tree string) (string, error) { return r.signature(tree, paths) })
		if err != nil || same {
			return err
		}
		if len(touched) == 0 {
			r.Report(diag.Diagnostic{Ref: t.Ref, Rule: "rights/protected",
				Message: "a merge kept protected paths older than the main that it merged",
				Hint:    "take main's version: git checkout origin/main -- " + strings.Join(paths, " ")})
		}
		for _, c := range touched {
			r.Report(diag.Diagnostic{Pos: diag.Pos{Commit: t.New, Path: c.Path}, Ref: t.Ref, Rule: "rights/protected",
				Message: "only the PM may change this path",
				Hint:    "undo it: git checkout origin/main -- " + c.Path + " (or git rm it when main has none)"})
		}
		return nil
	},
}

// covers reports whether a list of paths names path: a directory by its trailing
// slash, a file exactly. Case folds, because some file systems fold it.
func covers(paths []string, path string) bool {
	path = strings.ToLower(path)
	return slices.ContainsFunc(paths, func(p string) bool {
		p = strings.ToLower(p)
		if dir, ok := strings.CutSuffix(p, "/"); ok && path == dir {
			return true // a file or link in the directory's place
		}
		return path == p || (strings.HasSuffix(p, "/") && strings.HasPrefix(path, p))
	})
}

// signature is what a tree holds at paths: equal signatures, equal content.
func (r *Run) signature(tree string, paths []string) (string, error) {
	var b strings.Builder
	for _, p := range paths {
		e, ok, err := r.trees.lookup(tree, strings.TrimSuffix(p, "/"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %v %o %s\n", p, ok, e.Mode, e.ID)
	}
	return b.String(), nil
}

// someMain reports whether what view sees in the tip's tree is also seen in a
// commit of main that is not older than the merge base. Main's tip is tried
// first, then the merge base, then what is between.
func (r *Run) someMain(t *Tip, view func(tree string) (string, error)) (bool, error) {
	want, err := view(t.Commit.Tree)
	if err != nil {
		return false, err
	}
	matches := func(commit string) (bool, error) {
		c, err := r.commit(commit)
		if err != nil {
			return false, err
		}
		got, err := view(c.Tree)
		return got == want, err
	}
	if r.mainTip == "" {
		return false, nil
	}
	if ok, err := matches(r.mainTip); ok || err != nil {
		return ok, err
	}
	base, err := r.mergeBase(t.New)
	if err != nil || base == "" {
		return false, err
	}
	if ok, err := matches(base); ok || err != nil {
		return ok, err
	}
	out, err := r.repo.Output(r.ctx, "rev-list", "--ancestry-path", "--max-count=1000", base+".."+r.mainTip)
	if err != nil {
		return false, err
	}
	for _, id := range strings.Fields(string(out)) {
		if ok, err := matches(id); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
