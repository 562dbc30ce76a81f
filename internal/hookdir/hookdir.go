// Package hookdir knows where a repository's hooks are and whether Ward's are
// among them: in hooks/ itself, below a delegate that runs hooks/NAME.d/*, in
// custom_hooks/, or wherever the repository's core.hooksPath leads (HOOK-6,
// AUD-2). Servers rewrite their hooks; whoever relies on Ward's asks here first.
package hookdir

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"git-ward/internal/config"
	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// Names are the hooks that are Ward's.
var Names = []string{"pre-receive", "post-receive"}

// program is what Ward's hook is called below a delegate's NAME.d.
const program = "ward"

// module is how Ward's hook binary is told from anybody else's hook.
const module = "git-ward/hooks/cmd/ward-hook"

// Key is the setting of the repository that records where init put a hook of
// Ward's: a path, relative to the repository where it lies in it.
func Key(name string) string {
	return map[string]string{"pre-receive": "ward.preReceive", "post-receive": "ward.postReceive"}[name]
}

// IsWard reports whether a file is Ward's hook binary, of whatever version.
func IsWard(path string) bool {
	info, err := buildinfo.ReadFile(path)
	return err == nil && info.Path == module
}

// Layout is a directory of hooks, absolute.
type Layout struct{ Dir string }

// Find is the layout of a repository: the directory that is named (as with
// core.hooksPath, relative to the repository), else custom_hooks/ where there is
// one, because a server that has it (Gitaly) does not run hooks/, else hooks/.
func Find(bare, named string) (Layout, error) {
	if named == "" {
		if info, err := os.Stat(filepath.Join(bare, "custom_hooks")); err == nil && info.IsDir() {
			return Layout{filepath.Join(bare, "custom_hooks")}, nil
		}
		return Layout{filepath.Join(bare, "hooks")}, nil
	}
	dir := filepath.Clean(named)
	if filepath.IsAbs(named) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return Layout{}, diag.Hint(fmt.Errorf("--hooks %s is not a directory", named), "make it first, or name one in the repository")
		}
		return Layout{dir}, nil
	}
	if !filepath.IsLocal(dir) || dir == "." {
		return Layout{}, diag.Hint(fmt.Errorf("--hooks %s is relative, but leads out of the repository", named), "name it from / on")
	}
	return Layout{filepath.Join(bare, dir)}, nil
}

// Path is where Ward's hook of that name goes: below the delegate that stands
// there, else into the directory itself.
func (l Layout) Path(name string) string {
	path := filepath.Join(l.Dir, name)
	// A script that looks like one and is none would leave pushes unjudged; so the
	// directory has to be there, too. Without it the script is chained, which is safe.
	if info, err := os.Stat(path + ".d"); err == nil && info.IsDir() && !IsWard(path) && IsDelegate(path, name) {
		return filepath.Join(path+".d", program)
	}
	return path
}

// DirOf is the directory of the layout that has Ward's hook at path.
func DirOf(path, name string) string {
	if first, ok := strings.CutSuffix(path, name+".d/"+program); ok {
		return filepath.Clean(first)
	}
	return filepath.Dir(path)
}

// Stale is where Ward's hook must not be beside Path: a push judged twice would
// be recorded twice.
func (l Layout) Stale(name string) string {
	return filepath.Join(l.Dir, name+".d", program)
}

// Chained is where the hook goes that stood in the place of Ward's, and from where
// it is run: in a directory beside the layout's, at the same depth and under its
// own name, so that its $0, its siblings and what is relative to them are right.
func (l Layout) Chained(name string) string { return filepath.Join(ChainedDir(l.Dir), name) }

// ChainedDir is the directory of chained hooks for a directory of hooks.
func ChainedDir(dir string) string { return dir + ".chained" }

// dotD is a mention of the directory of a delegate: its hook's name, or a variable
// or a command in its place, and ".d".
func dotD(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[^#\n]*(\b` + name + `|\$\{?\w+\}?|\$\([^)\n]*\)|` + "`[^`\n]*`" + `)["']?\.d(["'/\s;)]|$)`)
}

// maxScript is how much of a hook is read to see whether it is a delegate.
const maxScript = 256 << 10

// IsDelegate reports whether the hook at path is a script that runs the hooks in
// NAME.d, as forges have it.
func IsDelegate(path, name string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	text := make([]byte, maxScript)
	n, _ := f.Read(text)
	return strings.HasPrefix(string(text[:n]), "#!") && dotD(name).Match(text[:n])
}

// Relative is a path as settings of the repository have it: relative to the
// repository where it lies in it.
func Relative(bare, path string) string {
	if rel, err := filepath.Rel(bare, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Check says why pushes to a bare repository are not judged by Ward, with the
// remedy; nil when they are. It asks git, not the directory, what would run: a
// line core.hooksPath leads elsewhere. Where init recorded what it installed, that
// must be in its place; in a repository without such a record (the first version's)
// both hooks must be there and run.
func Check(ctx context.Context, bare string) error {
	repo := git.Open(bare)
	args := []string{"rev-parse", "--is-bare-repository"}
	for _, name := range Names {
		args = append(args, "--git-path", "hooks/"+name)
	}
	out, err := repo.Output(ctx, args...)
	answer := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || !exit.Exited()) { // not git's own answer: it could not run
		return fmt.Errorf("git does not answer what %s is: %w", bare, err)
	}
	if err != nil || len(answer) != 1+len(Names) || answer[0] != "true" {
		return diag.Hint(fmt.Errorf("%s is not a bare git repository", bare), "`git ward init --bare DIR` makes one")
	}
	for i, name := range Names {
		out, err := repo.Output(ctx, "config", "--local", "--get", Key(name))
		want := strings.TrimSuffix(string(out), "\n")
		recorded := err == nil && want != ""
		if !recorded {
			want = "hooks/" + name
		}
		if err := check(within(bare, want), within(bare, answer[1+i]), name, recorded); err != nil {
			return diag.Hint(err, "`git ward init --bare %s` mends it", bare)
		}
	}
	return nil
}

// Installed are the places where init put Ward's hooks, absolute, whether they are there
// still or not; in a repository without a record of it, where the first version did.
func Installed(ctx context.Context, bare string) (paths []string) {
	for _, name := range Names {
		out, err := git.Open(bare).Output(ctx, "config", "--local", "--get", Key(name))
		path := strings.TrimSuffix(string(out), "\n")
		if err != nil || path == "" {
			path = "hooks/" + name
		}
		paths = append(paths, within(bare, path))
	}
	return paths
}

// within makes a path absolute that is relative to the repository.
func within(bare, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(bare, path)
}

// gone is how every message begins that says so.
const gone = "Ward's hooks have gone"

// check compares where a hook of Ward's is with what git would run.
func check(path, runs, name string, recorded bool) error {
	first := filepath.Join(DirOf(path, name), name) // what git has to run, so that path is reached
	if runs != first {
		return fmt.Errorf("git would run %s, not %s", runs, first)
	}
	for _, p := range []string{first, path} {
		if err := unix.Access(p, unix.X_OK); err != nil {
			if errors.Is(err, fs.ErrNotExist) && recorded {
				return fmt.Errorf("%s: the hook %s does not run: %w", gone, p, err)
			}
			return fmt.Errorf("the hook %s does not run: %w", p, err)
		}
	}
	switch {
	case recorded && !IsWard(path):
		return fmt.Errorf("%s: %s is not Ward's any more", gone, path)
	case first != path && !IsDelegate(first, name):
		return fmt.Errorf("%s: %s does not run those in %s any more", gone, first, filepath.Dir(path))
	}
	return nil
}

// Gone words why Ward's hooks do not judge pushes, with its remedy, for commands
// that say it beside their answer; "" when they do, and where Ward has never been.
func Gone(ctx context.Context, bare string) string {
	if _, err := os.Stat(filepath.Join(bare, config.Path)); err != nil {
		return ""
	}
	err := Check(ctx, bare)
	if err == nil {
		return ""
	}
	text := "pushes are not judged: " + err.Error()
	var hinted *diag.Hinted
	if errors.As(err, &hinted) {
		text += "; " + hinted.Hint
	}
	return text
}
