// Package branches says which branch of a repository holds the project and which holds Ward's
// documents (CTRL-1), and under which refs to read them: a bare repository has them as
// branches, a clone as remote-tracking branches of origin.
package branches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// The settings of a clone that name its branches; `git ward clone` writes them.
const (
	ControlKey = "ward.control"
	ProjectKey = "ward.project"
)

// Adopted is the name of the control branch that init makes in an existing repository.
const Adopted = "ward"

// Told is the name of a control branch that `git ward clone` has to be told by --control, "" where a
// clone finds it by itself: one that is the project's branch, or is named Adopted.
func Told(c config.Control) string {
	if !c.Split() || c.Branch == Adopted {
		return ""
	}
	return c.Branch
}

// document is the file that identifies a control branch (protocols/comms.Path).
const document = "COMMS.md"

const (
	heads    = "refs/heads/"
	fetched  = "refs/remotes/origin/"
	mainName = "main"
)

// Names are the two branches of a repository, and where it keeps them.
type Names struct {
	config.Control
	base string // heads or fetched
}

// ControlRef is the full ref at which the control branch is read in this repository.
func (n Names) ControlRef() string { return n.base + n.Branch }

// ProjectRef is the full ref at which the project's branch is read in this repository.
func (n Names) ProjectRef() string { return n.base + n.Project }

// Base is the ref prefix of a branch in this repository: "refs/heads/" in a bare repository,
// "refs/remotes/origin/" in a clone.
func (n Names) Base() string { return n.base }

// Fetch returns the refspecs that fetch both branches into a clone.
func (n Names) Fetch() []string {
	specs := []string{"+" + n.Control.Ref() + ":" + fetched + n.Branch}
	if n.Split() {
		specs = append(specs, "+"+n.Control.ProjectRef()+":"+fetched+n.Project)
	}
	return specs
}

// Of returns the branches of a repository. A bare one names them in its ward/config.toml, a
// clone in its git config. A clone made by plain git names none; there, a branch "ward" of
// origin that has COMMS.md and shares no history with origin's HEAD is the control branch.
// Otherwise both are main.
func Of(ctx context.Context, repo *git.Repo) (Names, error) {
	names := Names{base: fetched}
	bare, err := repo.Bare(ctx)
	if err != nil {
		return names, err
	}
	if bare {
		names.base = heads
		c, err := config.Load(repo.Dir)
		if err == nil {
			names.Control = c.Control
			return names, nil
		}
		if _, missing := os.Stat(filepath.Join(repo.Dir, config.Path)); !errors.Is(missing, fs.ErrNotExist) {
			return names, err
		}
	}
	settings, err := repo.Settings(ctx)
	if err != nil {
		return names, err
	}
	names.Branch, names.Project = last(settings[ControlKey]), last(settings[ProjectKey])
	if names.Branch == "" || names.Project == "" {
		if err := names.guess(ctx, repo); err != nil {
			return names, err
		}
	}
	if err := names.Check(); err != nil {
		return names, diag.Hint(fmt.Errorf("git config %s and %s: %w", ControlKey, ProjectKey, err), "git config %s NAME, git config %s NAME", ControlKey, ProjectKey)
	}
	return names, nil
}

// last is the effective value of a setting, "" if it has none.
func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return strings.TrimSpace(values[len(values)-1])
}

// guess fills in what no setting says.
func (n *Names) guess(ctx context.Context, repo *git.Repo) error {
	project, err := n.head(ctx, repo)
	if err != nil {
		return err
	}
	adopted, err := n.isControl(ctx, repo, n.base+Adopted, n.base+project)
	if err != nil {
		return err
	}
	switch {
	case n.Branch != "" && n.Project == "", adopted:
		n.fill(Adopted, project)
	default:
		n.fill(mainName, mainName)
	}
	return nil
}

func (n *Names) fill(control, project string) {
	n.Branch = cmp.Or(n.Branch, control)
	n.Project = cmp.Or(n.Project, project)
}

// head is the branch that origin's HEAD named when the clone was made, or a bare
// repository's own.
func (n *Names) head(ctx context.Context, repo *git.Repo) (string, error) {
	ref := "HEAD"
	if n.base == fetched {
		ref = fetched + "HEAD"
	}
	out, err := repo.Output(ctx, "for-each-ref", "--format=%(symref)", ref)
	if n.base == heads {
		out, err = repo.Output(ctx, "symbolic-ref", "HEAD")
		if err != nil {
			return mainName, nil // detached
		}
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(out)), n.base)
	if err != nil || !ok || name == "" {
		return mainName, err
	}
	return name, nil
}

// isControl reports whether a ref is a separate control branch: it has COMMS.md, and no commit
// in common with the project's branch. If the documents are on the project's branch, a branch
// called "ward" is an ordinary one.
func (n *Names) isControl(ctx context.Context, repo *git.Repo, ref, project string) (bool, error) {
	batch := repo.Batch(ctx)
	defer batch.Close()
	for _, name := range []string{ref + ":" + document, project} {
		if _, err := batch.Info(name); errors.Is(err, git.ErrMissing) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	related, err := repo.Exits(ctx, "merge-base", ref, project)
	return !related, err
}
