package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/hooks/push"
	"git-ward/internal/branches"
	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/protocols/comms"
	"git-ward/protocols/state"
)

const mainName = "main"

// examine classifies the repository before anything is changed: to be made, Ward's, or an
// adoptable project's.
func (in *installer) examine(ctx context.Context) error {
	entries, err := os.ReadDir(in.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	in.fresh = len(entries) == 0
	if !in.fresh {
		if err := in.existing(ctx); err != nil {
			return err
		}
	}
	if err := in.before.load(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(in.Dir, config.Path)); err == nil {
		return in.settled()
	}
	refs, err := in.refs(ctx)
	if err == nil && !in.before.known && refs[state.AuditRef] == "" { // no Ward has judged a push here
		err = in.place()
	}
	if err != nil {
		return err
	}
	if in.before.known && in.Control == "" { // the settings were lost, or their writing was killed
		in.branches = in.before.Control
		return nil
	}
	if len(refs) == 0 {
		in.branches = config.Control{Branch: mainName, Project: mainName}
		if in.Control != "" {
			in.branches = config.Control{Branch: in.Control, Project: in.Control}
		}
		return in.named()
	}
	return in.adopt(ctx, refs)
}

// settled reads the branches from an earlier run's settings.
func (in *installer) settled() error {
	c, err := config.Load(in.Dir)
	if err != nil {
		return err
	}
	in.branches = c.Control
	if in.Control != "" && in.Control != c.Control.Branch {
		return diag.Hint(fmt.Errorf("the control branch of %s is %s since init, not %s", in.Dir, c.Control.Branch, in.Control),
			"git ward init --remove --bare %s takes Ward out; then init with --control %s", diag.Word(in.Dir), in.Control)
	}
	return nil
}

// refs are the repository's, by name.
func (in *installer) refs(ctx context.Context) (map[string]string, error) {
	if in.fresh {
		return nil, nil
	}
	reader := in.repo.Reader(ctx)
	defer reader.Close()
	return reader.Refs("refs/")
}

// adopt chooses the two branches of a repository with a history, and refuses what Ward cannot
// guard.
func (in *installer) adopt(ctx context.Context, refs map[string]string) error {
	if err := in.complete(ctx); err != nil {
		return err
	}
	project, err := in.project(ctx, refs)
	if err != nil {
		return err
	}
	in.branches = config.Control{Branch: in.Control, Project: project}
	if in.Control == "" {
		in.branches.Branch = branches.Adopted
		if in.ours(ctx, heads+project) { // an earlier version of Ward made it, and its settings were lost
			in.branches.Branch = project
			return nil
		}
	}
	if err := in.named(); err != nil {
		return err
	}
	proof := in.prove(ctx, refs)
	if err := in.inTheWay(refs, proof.chain); err != nil {
		return err
	}
	somebodys := diag.Hint(fmt.Errorf("the branch %s is the project's own, and Ward's documents need one of theirs", in.branches.Branch), "git ward init --bare --control NAME %s", diag.Word(in.Dir))
	if in.Control == "" && !in.branches.Split() {
		return somebodys
	}
	in.report.Project = refs[in.branches.ProjectRef()]
	if own := ownBranches(refs, proof); len(own) > 0 {
		in.report.warn(diag.Hint(fmt.Errorf("%s below agent/ or rescue/, where the agent may move and delete branches from now on: %s", diag.Count(len(own), "branch"), strings.Join(own[:min(5, len(own))], ", ")), "git --git-dir=%s branch -m OLD NEW", diag.Word(in.Dir)))
	}
	ref := in.branches.Ref()
	if refs[ref] == "" || !in.branches.Split() {
		return nil
	}
	if !in.ours(ctx, ref) {
		return somebodys
	}
	return nil
}

// direct refuses a branch of the settings that is a symbolic ref: a push by its name would move
// another branch, and the gate refuses it.
func (in *installer) direct(ctx context.Context) error {
	for _, ref := range in.branches.Refs() {
		to, err := in.repo.Leads(ref)
		if err != nil {
			return err
		}
		if to != "" {
			return diag.Hint(fmt.Errorf("the branch %s of %s is a symbolic ref to %s, and nothing can be pushed to it", diag.Clean(strings.TrimPrefix(ref, heads)), in.Dir, diag.Clean(to)),
				"%s", in.repo.OwnRef(ctx, "git --git-dir="+diag.Word(in.Dir), ref))
		}
	}
	return nil
}

// named holds the branches to what settings may say.
func (in *installer) named() error {
	if err := in.branches.Check(); err != nil {
		return diag.Hint(err, "rename it: git --git-dir=%s branch -m OLD NEW", diag.Word(in.Dir))
	}
	return nil
}

// project is the branch that HEAD names, which a clone checks out.
func (in *installer) project(ctx context.Context, refs map[string]string) (string, error) {
	name := ""
	for ref := range refs {
		if branch, ok := strings.CutPrefix(ref, heads); ok && (name == "" || branch < name) {
			name = branch
		}
	}
	hint := fmt.Sprintf("git --git-dir=%s symbolic-ref HEAD refs/heads/%s", diag.Word(in.Dir), diag.Word(name))
	if name == "" {
		return "", diag.Hint(fmt.Errorf("%s has refs, but no branch that could be the project's", in.Dir), "push the project's branch first")
	}
	out, err := in.repo.Output(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil {
		return "", diag.Hint(fmt.Errorf("HEAD of %s is detached: it does not say which branch is the project's", in.Dir), "%s", hint)
	}
	head := strings.TrimSpace(string(out))
	if refs[head] == "" {
		return "", diag.Hint(fmt.Errorf("HEAD of %s names %s, which has no commit, but the repository has branches", in.Dir, head), "%s", hint)
	}
	name, ok := strings.CutPrefix(head, heads)
	if !ok {
		return "", diag.Hint(fmt.Errorf("HEAD of %s names %s, which is no branch", in.Dir, head), "%s", hint)
	}
	return name, nil
}

// inTheWay refuses branches whose names conflict with Ward's, because git allows no branch
// below another's name.
func (in *installer) inTheWay(refs map[string]string, audited bool) error {
	control := in.branches.Ref()
	for ref := range refs {
		name := strings.TrimPrefix(ref, heads)
		switch {
		case !audited && inPlace(ref) && !push.IsAgentBranch(ref):
			return diag.Hint(fmt.Errorf("%s is the project's own, and Ward keeps its own there", ref), "git --git-dir=%[1]s update-ref %[3]s %[2]s && git --git-dir=%[1]s update-ref -d %[2]s", diag.Word(in.Dir), diag.Word(ref), diag.Word(strings.Replace(ref, "refs/", "refs/kept/", 1)))
		case ref == heads+"agent", ref == heads+"rescue":
			return diag.Hint(fmt.Errorf("the branch %s stands where the agent's %s/... are to be", name, name), "git --git-dir=%s branch -m %s NEW", diag.Word(in.Dir), diag.Word(name))
		case strings.HasPrefix(ref, control+"/"), strings.HasPrefix(control, ref+"/"):
			return diag.Hint(fmt.Errorf("the branch %s stands in the way of a branch %s", name, in.branches.Branch), "git ward init --bare --control NAME %s", diag.Word(in.Dir))
		}
	}
	return nil
}

// ours reports whether a branch is an earlier run's control branch: it has COMMS.md, and Ward
// wrote its first commit.
func (in *installer) ours(ctx context.Context, ref string) bool {
	_, err := in.repo.Output(ctx, "cat-file", "-e", ref+":"+comms.Path)
	return err == nil && in.by(ctx, "--max-parents=0", ref)
}
