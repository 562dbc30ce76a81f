package trees

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/bootstrap/statedir"
	"git-ward/bootstrap/supervisor"
	"git-ward/internal/git"
	"git-ward/protocols/boot"
	"git-ward/protocols/record"
)

// GitEnv returns an environment in which git in a tree depends only on the tree.
func (t *Trees) GitEnv() []string {
	return git.Harden([]string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + t.Dir.GitConfig(), "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
		"LC_ALL=C", "GIT_CEILING_DIRECTORIES=" + t.Dir.Path,
	})
}

// WriteGitConfig writes the configuration of git in trees. It must be called first. It marks the remote as
// safe, because in the fence the remote has another owner, and git would refuse it.
func (t *Trees) WriteGitConfig() error {
	bare, err := filepath.EvalSymlinks(t.Bare)
	if err != nil {
		return err
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	text := fmt.Sprintf("[safe]\n\tdirectory = \"%s\"\n[core]\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n[init]\n\tdefaultBranch = main\n",
		quote.Replace(bare))
	return t.Dir.WriteGitConfig([]byte(text))
}

// maxAnswer bounds, in bytes, the output of git in a tree: filters, which are the tree's own
// programs, write to its stderr, and it is kept in memory here.
const maxAnswer = 4 << 20

// git runs git in a tree, as the agent's user, and returns what it printed.
func (t *Trees) git(ctx context.Context, dir string, args ...string) (string, error) {
	var out bytes.Buffer
	err := t.Supervisor.Run(ctx, supervisor.Command{Dir: dir, Env: t.GitEnv(), Time: treeTime, Output: &out, Limit: maxAnswer,
		Args: git.Line(args...)})
	text := strings.TrimSpace(out.String())
	if err != nil {
		return text, fmt.Errorf("git %s: %w: %s", args[0], err, supervisor.LastLines(text))
	}
	return text, nil
}

// The states of a tree's .git, as the script plain prints them.
const (
	noRepository = "none"
	unsound      = "unsound" // git must not run there
	isPlain      = "plain"
)

// plain is a script that resets the configuration, attributes and hooks of a tree's repository. An agent's
// could make git run its programs, in status, filters and fetches, without a time limit. The script runs
// with the agent's rights, because the agent may have removed others' permissions, and while no agent
// runs; a starting agent writes its own configuration. The unit's record is not part of the tree (REC-1).
// Named pipes, and links to them, are removed wherever git could open one, because git would block.
const plain = `cd -P -- "$1" 2>/dev/null && { [ -e .git ] || [ -L .git ]; } || { echo ` + noRepository + `; exit; }
[ -d .git ] && [ ! -L .git ] || { echo ` + unsound + `; exit; }
find .git ! -type f ! -type d -exec rm -f -- {} + 2>/dev/null
find . -type p -exec rm -f -- {} + 2>/dev/null
rm -rf .git/config .git/config.worktree .git/hooks .git/info .git/commondir .git/modules &&
printf '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n' >.git/config &&
mkdir .git/info && echo '/` + record.Dir + `/' >.git/info/exclude && echo ` + isPlain

// disarm runs plain on a tree's repository and returns the state that it printed.
func (t *Trees) disarm(ctx context.Context, dir string) (what string, err error) {
	var out bytes.Buffer
	err = t.Supervisor.Run(ctx, supervisor.Command{Dir: t.Dir.Path, Time: treeTime, Output: &out, Limit: maxAnswer,
		Args: []string{"sh", "-c", plain, "sh", dir}})
	text := strings.TrimSpace(out.String())
	if err != nil {
		return "", fmt.Errorf("the settings of %s cannot be replaced: %w: %s", dir, err, supervisor.LastLines(text))
	}
	return text[strings.LastIndex(text, "\n")+1:], nil
}

// status disarms a tree and returns how it differs from its commit (see differs).
func (t *Trees) status(ctx context.Context, dir string) (string, error) {
	what, err := t.disarm(ctx, dir)
	if err == nil && what != isPlain {
		err = fmt.Errorf("the repository of %s: %s", dir, what)
	}
	if err != nil {
		return "", err
	}
	return t.differs(ctx, dir)
}

// differs returns a hash of the differences between a disarmed tree and its commit, "" for none.
func (t *Trees) differs(ctx context.Context, dir string) (string, error) {
	text, err := t.git(ctx, dir, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all")
	if err == nil && text != "" {
		text = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	return text, err
}

// checkout brings a branch's tree to a commit. A tree at that commit whose status is clean stays as it is,
// with the build's output; so does the output if only files that are not code differ. Otherwise, or if
// fresh is set, checkout removes everything that is not in the commit, and returns true. Before that it
// saves unpushed work (rescue). If git cannot repair the tree, or anew is set, it makes the tree again: an
// untrusted repository may have bits in its index, or objects, that misrepresent the commit.
func (t *Trees) checkout(ctx context.Context, dir, commit, clean string, fresh, anew bool) (bool, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		err := t.update(ctx, dir, commit)
		if err != nil && ctx.Err() == nil { // a branch was deleted while its refs were copied
			err = t.renew(ctx, dir, commit)
		}
		return true, err
	}
	head, dirty := "", true
	what, err := t.disarm(ctx, dir)
	switch {
	case ctx.Err() != nil:
		return true, ctx.Err()
	case err != nil: // for example on a full disk: only the agent's own program may run git there (rescue)
		t.Log.Warn().Err(err).Str("tree", dir).Msg("the tree is made anew")
		t.rescue(ctx, dir, true)
		return true, t.renew(ctx, dir, commit)
	case what == unsound:
		return true, t.renew(ctx, dir, commit)
	case what == isPlain:
		var status string
		if head, err = t.git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD"); err == nil {
			status, err = t.differs(ctx, dir)
		}
		if dirty = err != nil || status != clean; dirty || head != commit {
			t.rescue(ctx, dir, dirty)
		}
	}
	if anew {
		return true, t.renew(ctx, dir, commit)
	}
	fresh = fresh || dirty
	if !fresh && head == commit {
		return false, nil
	}
	err = t.update(ctx, dir, commit)
	if err == nil && fresh {
		_, err = t.git(ctx, dir, "clean", "-ffdxq")
	}
	if err == nil || ctx.Err() != nil {
		return fresh, err
	}
	t.Log.Warn().Err(err).Str("tree", dir).Msg("the tree is made anew")
	return true, t.renew(ctx, dir, commit)
}

// renew makes a tree anew.
func (t *Trees) renew(ctx context.Context, dir, commit string) error {
	if err := t.Remove(ctx, dir); err != nil {
		return err
	}
	return t.update(ctx, dir, commit)
}

// lend is a script that makes a repository in $1 with the objects of the remote $2 as alternates, and with
// the refs on its standard input.
const lend = `set -e
git init --quiet --template= "$1"
printf '%s/objects\n' "$2" >"$1/.git/objects/info/alternates"
git -C "$1" update-ref --stdin`

// lent makes a new tree with the remote's branches and tags. Without these refs, git fetch would walk the
// whole history.
func (t *Trees) lent(ctx context.Context, dir string) error {
	refs, err := t.Remote.Copied(ctx)
	if err != nil {
		return err
	}
	var out supervisor.Tail
	err = t.Supervisor.Run(ctx, supervisor.Command{Dir: t.Dir.Path, Env: t.GitEnv(), Time: treeTime, Stdin: refs, Output: &out,
		Args: []string{"sh", "-c", lend, "sh", dir, t.Bare}})
	if err != nil {
		return fmt.Errorf("%s cannot borrow the remote's objects: %w: %s", dir, err, out.LastLines())
	}
	return nil
}

// update fetches and checks out. The objects are the remote's and not copied: if the remote
// removed one that the tree needs, git fails here, and the tree is made anew.
func (t *Trees) update(ctx context.Context, dir, commit string) error {
	if err := t.removeLocks(ctx, dir); err != nil {
		return err
	}
	fetch := []string{"fetch", "--quiet", "--force", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"}
	if !statedir.Exists(filepath.Join(dir, ".git")) {
		if err := t.lent(ctx, dir); err != nil {
			return err
		}
	} else if _, err := t.git(ctx, dir, append(fetch, "--prune", t.Bare, "+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")...); err != nil {
		return err
	}
	checkout := []string{"checkout", "--quiet", "--force", "--detach", commit, "--"}
	_, err := t.git(ctx, dir, checkout...)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, missing := t.git(ctx, dir, "cat-file", "-e", commit+"^{commit}"); missing == nil {
		return err
	}
	// It is on no branch or tag, such as last-good after main was rewritten.
	if _, err := t.git(ctx, dir, append(fetch, t.Bare, "+"+boot.LastGood+":"+boot.LastGood, "+"+boot.BeforePrefix+"*:"+boot.BeforePrefix+"*")...); err != nil {
		return err
	}
	_, err = t.git(ctx, dir, checkout...)
	return err
}

// removeLocks removes lock files that a killed git left.
func (t *Trees) removeLocks(ctx context.Context, dir string) error {
	for _, name := range []string{"index.lock", "HEAD.lock", "shallow.lock", "config.lock", "packed-refs.lock"} {
		if path := filepath.Join(dir, ".git", name); statedir.Exists(path) {
			if err := t.Remove(ctx, path); err != nil {
				return err
			}
		}
	}
	return nil
}
