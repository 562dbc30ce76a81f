package verifier

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
)

// judged makes repositories with a single commit each, of the judged tree: no command finds the claim
// or its history by HEAD (PROOF-6).
type judged struct {
	repo *git.Repo
	dir  string // where they are, which others may enter
	made map[string]*judgedTree
}

// judgedTree is a tree's repository, and the job that runs on it, without a line.
type judgedTree struct {
	*scratch.Dir
	job Job
}

// judgedBranch is the only branch of such a repository.
const judgedBranch = "refs/heads/main"

// epoch is the time of such a commit, so that the same tree makes the same commit.
var epoch = time.Unix(946684800, 0)

// job returns the job for a tree, made once.
func (j *judged) job(ctx context.Context, tree string) (job Job, err error) {
	if made := j.made[tree]; made != nil {
		return made.job, nil
	}
	id, err := j.repo.CommitTree(git.Ward, tree, "", epoch, "what is judged")
	if err != nil {
		return job, err
	}
	made, err := scratch.Make(j.dir, "judged-")
	if err != nil {
		return job, err
	}
	job = Job{Repo: made.Path, Commit: id, Tree: tree}
	j.made[tree] = &judgedTree{made, job}
	for _, dir := range []string{"", "objects/pack", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(made.Path, dir), 0o755); err != nil {
			return job, err
		}
	}
	for name, content := range map[string]string{"HEAD": "ref: " + judgedBranch, judgedBranch: job.Commit, "config": "[core]\n\trepositoryformatversion = 0\n\tbare = true"} {
		if err := os.WriteFile(filepath.Join(made.Path, name), []byte(content+"\n"), 0o644); err != nil {
			return job, err
		}
	}
	if err := os.Chmod(made.Path, 0o755); err != nil { // containers have users of their own
		return job, err
	}
	_, err = j.repo.OutputFrom(ctx, []byte(job.Commit+"\n"), "pack-objects", "--revs", "-q", filepath.Join(made.Path, "objects/pack/pack"))
	return job, err
}

// drop removes the repository of a tree that no run needs any more.
func (j *judged) drop(tree string) {
	j.made[tree].Remove()
	delete(j.made, tree)
}

// trees lists the trees that have a repository.
func (j *judged) trees() []string { return slices.Collect(maps.Keys(j.made)) }

// only removes the repositories of all trees but the given ones.
func (j *judged) only(trees []string) {
	for tree := range j.made {
		if !slices.Contains(trees, tree) {
			j.drop(tree)
		}
	}
}

// close removes them all.
func (j *judged) close() { j.only(nil) }
