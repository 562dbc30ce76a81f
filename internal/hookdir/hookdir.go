// Package hookdir knows where a repository's hooks are and whether Ward's are among them: in
// hooks/ itself, below a delegate that runs hooks/NAME.d/*, in custom_hooks/, or wherever the
// repository's core.hooksPath leads (HOOK-6, AUD-2). Servers may rewrite their hooks, so
// callers that rely on Ward's ask here first.
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

// Names are the hooks that Ward installs.
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

// IsWard reports whether a file is Ward's hook binary, of any version.
func IsWard(path string) bool {
	info, err := buildinfo.ReadFile(path)
	return err == nil && info.Path == module
}

// Layout is a directory of hooks, absolute.
type Layout struct{ Dir string }

// Find returns the layout of a repository: the named directory (relative to the repository, as
// core.hooksPath is), else custom_hooks/ if it exists, because a server with it (Gitaly) does
// not run hooks/, else hooks/.
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

// Path is the place of Ward's hook of that name: below an existing delegate, else in the
// directory itself.
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

// Stale is the other place, which must not have Ward's hook as well: a push would be judged
// and recorded twice.
func (l Layout) Stale(name string) string {
	return filepath.Join(l.Dir, name+".d", program)
}

// Chained is the new place of a hook that Ward's replaced; Ward's hook runs it from there. It
// is a directory beside the layout's, at the same depth, and the hook keeps its name, so that
// its $0, its siblings and relative paths stay right.
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

// Relative is a path as the repository's settings store it: relative if it lies in the
// repository.
func Relative(bare, path string) string {
	if rel, err := filepath.Rel(bare, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Check returns nil if Ward judges pushes to a bare repository, and otherwise an error with
// the reason and a remedy. It asks git which hook would run, because core.hooksPath may lead
// elsewhere. Where init recorded what it installed, that must be in place; a repository
// without such a record (the first version's) must have both hooks.
func Check(ctx context.Context, bare string) error {
	repo := git.Open(bare)
	args := []string{"rev-parse", "--is-bare-repository"}
	for _, name := range Names {
		args = append(args, "--git-path", "hooks/"+name)
	}
	out, err := repo.Output(ctx, args...)
	answer := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) { // not git's own answer: it could not run
		return fmt.Errorf("git does not answer what %s is: %w", bare, err)
	}
	if err != nil || len(answer) != 1+len(Names) || answer[0] != "true" {
		return diag.Hint(fmt.Errorf("%s is not a bare git repository", bare), "`git ward init --bare DIR` makes one")
	}
	settings, err := repo.Settings(ctx)
	if err != nil {
		return err
	}
	for i, name := range Names {
		want, recorded := recordedIn(settings, name)
		if err := check(within(bare, want), within(bare, answer[1+i]), name, recorded); err != nil {
			return diag.Hint(err, "`git ward init --bare %s` mends it", diag.Word(bare))
		}
	}
	return nil
}

// Installed lists the absolute paths where init put Ward's hooks, whether they still exist or
// not. Without a record of that, they are the first version's.
func Installed(ctx context.Context, bare string) (paths []string) {
	settings, _ := git.Open(bare).Settings(ctx) // none is no record
	for _, name := range Names {
		path, _ := recordedIn(settings, name)
		paths = append(paths, within(bare, path))
	}
	return paths
}

// recordedIn is where the settings of a repository say that init put a hook, and whether they do.
func recordedIn(settings map[string][]string, name string) (path string, recorded bool) {
	if all := settings[strings.ToLower(Key(name))]; len(all) > 0 && all[len(all)-1] != "" {
		return all[len(all)-1], true
	}
	return "hooks/" + name, false
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
		return fmt.Errorf("%s: %s was changed, and does not run the hooks in %s any more", gone, first, filepath.Dir(path))
	}
	return nil
}

// Gone says why Ward's hooks do not judge pushes, with the remedy, for commands that print it
// beside their answer. It returns "" if they do, and for a repository that Ward never guarded.
func Gone(ctx context.Context, bare string) string {
	if _, err := os.Stat(filepath.Join(bare, config.Path)); err != nil {
		return ""
	}
	err := Check(ctx, bare)
	if err == nil {
		return ""
	}
	text := "pushes are not judged: " + err.Error()
	if hinted, ok := errors.AsType[*diag.Hinted](err); ok {
		text += "; " + hinted.Hint
	}
	return text
}
