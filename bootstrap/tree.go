package bootstrap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ward/internal/atomicfile"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// treeTime bounds one git command in a tree.
const treeTime = 10 * time.Minute

// gitEnv makes git in a tree depend on nothing but the tree: the agent owns it,
// and all this runs with the agent's rights.
func (w *watcher) gitEnv() []string {
	return git.Harden([]string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + w.own("gitconfig"), "GIT_TERMINAL_PROMPT=0",
		"LC_ALL=C", "GIT_CEILING_DIRECTORIES=" + w.place.state,
	})
}

// writeGitConfig is for git in trees: in the fence the remote has another owner.
func (w *watcher) writeGitConfig() error {
	bare, err := filepath.EvalSymlinks(w.Bare)
	if err != nil {
		return err
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	text := fmt.Sprintf("[safe]\n\tdirectory = \"%s\"\n[core]\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n[advice]\n\tdetachedHead = false\n[init]\n\tdefaultBranch = main\n",
		quote.Replace(bare))
	return atomicfile.Write(w.own("gitconfig"), []byte(text), 0o644)
}

// maxAnswer is how much a git in a tree may print: filters, which are the tree's own
// programs, write into its errors, and what they write is kept by the watcher.
const maxAnswer = 4 << 20

// answer is what git printed, up to maxAnswer bytes.
type answer struct{ bytes.Buffer }

func (a *answer) Write(p []byte) (int, error) {
	n, _ := a.Buffer.Write(p[:min(len(p), maxAnswer-a.Len())])
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// git runs git in a tree, as the agent's user, and returns what it printed.
func (w *watcher) git(ctx context.Context, dir string, args ...string) (string, error) {
	var out answer
	err := w.runAgent(ctx, job{dir: dir, env: w.gitEnv(), time: treeTime, out: &out, args: append([]string{"git"}, git.Quiet(args)...)})
	text := strings.TrimSpace(out.String())
	if err == nil && out.Len() >= maxAnswer {
		err = fmt.Errorf("it printed more than %d MiB", maxAnswer>>20)
	}
	if err != nil {
		return text, fmt.Errorf("git %s: %w: %s", args[0], err, lastLines(text))
	}
	return text, nil
}

// status is how a tree is: the commit and a hash of what differs from it.
func (w *watcher) status(ctx context.Context, dir string) (head, status string, err error) {
	if head, err = w.git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return "", "", err
	}
	text, err := w.git(ctx, dir, "status", "--porcelain", "--untracked-files=normal")
	if err == nil && text != "" {
		text = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	return head, text, err
}

// checkout makes the tree of a branch that of a commit. It stays as it is when it
// is that already, but for what the build left (clean is the status then), and
// where only words differ it keeps what is built. Else, and when fresh is asked
// for, everything that does not belong to the commit goes, and fresh comes back.
// What somebody left in the tree is kept first (rescue). A tree that git cannot
// mend is made anew.
func (w *watcher) checkout(ctx context.Context, dir, commit, clean string, fresh bool) (bool, error) {
	head, dirty := "", true
	if exists(dir + "/.git") {
		var status string
		var err error
		head, status, err = w.status(ctx, dir)
		if dirty = err != nil || status != clean; dirty || head != commit {
			w.rescue(ctx, dir, dirty)
		}
	}
	fresh = fresh || dirty
	if !fresh && head == commit {
		return false, nil
	}
	err := w.update(ctx, dir, commit)
	if err != nil && ctx.Err() == nil {
		w.log.Warn().Err(err).Str("tree", dir).Msg("the tree is made anew")
		if err := w.remove(ctx, dir); err != nil {
			return true, err
		}
		fresh = true
		err = w.update(ctx, dir, commit)
	}
	if err == nil && fresh {
		_, err = w.git(ctx, dir, "clean", "-ffdxq")
	}
	return fresh, err
}

// update fetches and checks out. `git init` and `git fetch`, not `git clone`: an
// interrupted fetch is gone on with.
func (w *watcher) update(ctx context.Context, dir, commit string) error {
	for _, name := range []string{"index.lock", "HEAD.lock", "shallow.lock", "config.lock", "packed-refs.lock"} {
		if path := filepath.Join(dir, ".git", name); exists(path) {
			if err := w.remove(ctx, path); err != nil {
				return err
			}
		}
	}
	if !exists(filepath.Join(dir, ".git")) {
		if _, err := w.git(ctx, w.place.state, "init", "--quiet", "--template=", dir); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"fetch", "--quiet", "--force", "--prune", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", w.Bare,
			"+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"},
		{"cat-file", "-e", commit + "^{commit}"},
		{"checkout", "--quiet", "--force", "--detach", commit, "--"},
	} {
		if _, err := w.git(ctx, dir, args...); err != nil {
			if args[0] == "cat-file" {
				// It is on no branch or tag, such as last-good after main was rewritten.
				_, err = w.git(ctx, dir, "fetch", "--quiet", "--no-write-fetch-head", w.Bare, "+"+lastGoodRef+":"+lastGoodRef)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// remove removes something of the agent's user, with its rights.
func (w *watcher) remove(ctx context.Context, path string) error {
	rel, err := filepath.Rel(w.place.state, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return fmt.Errorf("%s is not in the state directory", path)
	}
	// Caches of build tools are read-only.
	var out bytes.Buffer
	err = w.runAgent(ctx, job{dir: w.place.state, time: treeTime, out: &out,
		args: []string{"sh", "-c", `chmod -R u+rwX -- "$1" 2>/dev/null; rm -rf -- "$1"`, "sh", path}})
	if err != nil {
		return fmt.Errorf("%s cannot be removed: %w: %s", path, err, lastLines(out.String()))
	}
	return nil
}

// rescue lets the agent's own program push what a tree holds beyond the remote to
// a branch rescue/<time> (BOOT-4): its commits, and with all what is not committed.
// Trouble is no reason not to start again.
func (w *watcher) rescue(ctx context.Context, dir string, all bool) {
	var out bytes.Buffer
	args := append([]string{w.Agent, "rescue", "--tree", dir}, w.repoArgs()...)
	if !all {
		args = append(args, "--commits")
	}
	err := w.runAgent(ctx, job{dir: w.place.state, time: pushTime, out: &out, args: args})
	for line := range strings.Lines(out.String()) {
		if branch, ok := strings.CutPrefix(strings.TrimSpace(line), "rescued "); ok {
			w.log.Warn().Str("tree", dir).Str("branch", branch).Msg("what the tree held is kept")
			w.rescued = append(w.rescued, branch)
		}
	}
	if err != nil {
		w.log.Error().Err(err).Str("tree", dir).Str("output", lastLines(out.String())).Msg("not all that the tree held could be pushed")
	}
}

// build makes the tree's program; validate tries it. Both are the tree's own
// commands, with its own rights, and bounds of time and output.
func (w *watcher) build(ctx context.Context, dir string, command []string) error {
	return w.try(ctx, "build", dir, command, w.Settings.Bootstrap.BuildTimeout.Duration)
}

func (w *watcher) validate(ctx context.Context, dir string, command []string) error {
	return w.try(ctx, "validate", dir, command, w.Settings.Bootstrap.ValidateTimeout.Duration)
}

func (w *watcher) try(ctx context.Context, what, dir string, command []string, limit time.Duration) error {
	if len(command) == 0 {
		return nil
	}
	w.log.Info().Str("tree", dir).Strs("command", command).Msg(what)
	out, err := w.openBuildLog()
	if err != nil {
		return err
	}
	defer out.Close()
	fmt.Fprintf(out, "--- %s %s in %s\n", utc(w.now).Format(time.RFC3339), what, dir)
	last := &tail{w: diag.NewScreen(out)}
	if err := w.runAgent(ctx, job{dir: dir, time: limit, out: last, args: command}); err != nil {
		return withLast(fmt.Errorf("%s: %w", what, err), string(last.data))
	}
	return nil
}

// tail passes on what is written and keeps the end of it.
type tail struct {
	w    interface{ Write([]byte) (int, error) }
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.w.Write(p) // a full disk does not end a build by itself
	t.data = append(t.data, p...)
	if len(t.data) > 8<<10 {
		t.data = append(t.data[:0], t.data[len(t.data)-4<<10:]...)
	}
	return len(p), nil
}

// withLast adds the end of an output to an error, where there is one.
func withLast(err error, output string) error {
	if text := lastLines(output); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// lastLines is the end of an output, for a reason on one line.
func lastLines(text string) string {
	const size = 300
	text = strings.TrimSpace(text)
	if len(text) > size {
		text = text[len(text)-size:]
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
	}
	return diag.Clean(strings.ReplaceAll(text, "\n", "; "))
}

// explain adds a hint to an error for the log.
func explain(err error) string {
	var hinted *diag.Hinted
	if errors.As(err, &hinted) {
		return err.Error() + "; " + hinted.Hint
	}
	return err.Error()
}
