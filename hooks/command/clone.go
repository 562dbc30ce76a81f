package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ward/internal/branches"
	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/protocols/comms"

	"golang.org/x/sys/unix"
)

const cloneUsage = "clone [--control BRANCH] URL [DIR]"

// besideDir is appended to the project directory's name for the control branch's directory: a
// sibling, as is usual for git worktree, so that the project's tools do not see it.
const besideDir = ".ward"

// Clone is `git ward clone URL DIR`: a clone that also follows the audit, the
// lessons, the certificates and the units of work. Their refspecs have no `+`,
// so that a rewritten record is refused by the fetch and seen (GIT-2). Where the control
// branch is one of its own, it is checked out in a working tree beside DIR (CTRL-1).
var Clone = cli.Command{Name: "clone", Doc: "clone a ward repository with its audit", Run: cloneRepository,
	Long:     "An ordinary clone, which fetches the audit, the notes and the units' records as well, so that log, why, uow and review work in it.",
	Examples: []cli.Example{{Line: `clone /srv/git/project.git`, Doc: "into ./project"}}}

func cloneRepository(ctx context.Context, env *cli.Env) error {
	c := cloner{ctx: ctx, env: env}
	args, err := env.Flags("clone", cloneUsage, func(fs *flag.FlagSet) {
		fs.StringVar(&c.control, "control", "", "the control `BRANCH`, where it is neither main nor ward")
	})
	if err != nil {
		return err
	}
	if len(args) < 1 || len(args) > 2 {
		return env.Usage(cloneUsage, "clone takes a URL and a directory")
	}
	if len(args) == 1 {
		args = append(args, strings.TrimSuffix(filepath.Base(strings.TrimSuffix(args[0], "/")), ".git"))
	}
	c.dir = env.Path(args[1])
	if _, err := os.Lstat(c.dir + besideDir); err == nil {
		return diag.Hint(fmt.Errorf("%s is there already; the control branch of a clone in %s would be checked out in it", args[1]+besideDir, args[1]), "name another DIR")
	}
	env.Leaves("the clone that was begun is removed")
	return c.make(args[0], args[1])
}

// cloner is one clone.
type cloner struct {
	ctx          context.Context
	env          *cli.Env
	dir, control string
	tree         string // where it is while it is made
}

// make makes the clone; name is the user's name for the directory. Everything is made in a
// temporary directory, which is deleted on failure, and then moved into place as a whole,
// because a failing git clone empties its target directory, whoever has put files there
// meanwhile.
func (c *cloner) make(url, name string) (err error) {
	at, empty, err := c.place()
	if err != nil {
		return err
	}
	room, err := scratch.Make(at, "clone-")
	if err != nil {
		return diag.Hint(err, "name another DIR")
	}
	defer func() { err = errors.Join(err, room.Remove()) }()
	c.tree = filepath.Join(room.Path, filepath.Base(c.dir))
	if err := c.clone(url); err != nil {
		return err
	}
	names, err := c.names()
	if err != nil {
		return err
	}
	if err := c.look(names); err != nil {
		return err
	}
	if empty {
		err = c.fill(filepath.Base(room.Path))
	} else {
		err = move(c.tree, c.dir)
	}
	if err != nil {
		return err
	}
	controlDir := name
	if names.Split() {
		controlDir += besideDir
		c.env.Leaves("the project is cloned, and its control branch not checked out")
		if err := c.checkOutControl(names); err != nil {
			return diag.Hint(fmt.Errorf("%s is cloned and stays, but the control branch is not checked out: %w", name, err),
				"git -C %s worktree add --track -b %s DIR origin/%[2]s", diag.Word(c.dir), names.Branch)
		}
	}
	c.say(name, controlDir, names)
	return nil
}

// place is the directory in which to make the clone: on the target's file system. An existing
// empty target may be the only directory that its user can write to.
func (c *cloner) place() (at string, empty bool, err error) {
	scratch.Sweep(c.dir) // what a clone that was killed left in it is not a person's
	entries, err := os.ReadDir(c.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		at = filepath.Dir(c.dir)
		return at, false, os.MkdirAll(at, 0o777)
	case err != nil:
		return "", false, diag.Hint(err, "name another DIR")
	case len(entries) > 0:
		return "", false, diag.Hint(fmt.Errorf("%s is there already, and not empty", c.dir), "name another DIR")
	}
	return c.dir, true, nil
}

// fill moves the whole clone up into the empty directory, if nobody has put anything there
// except the clone in room. If something is in the way, it moves everything back.
func (c *cloner) fill(room string) (err error) {
	there, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, e := range there {
		if e.Name() != room {
			return came(filepath.Join(c.dir, e.Name()))
		}
	}
	entries, err := os.ReadDir(c.tree)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if err = move(filepath.Join(c.tree, e.Name()), filepath.Join(c.dir, e.Name())); err == nil {
			continue
		}
		for _, e := range entries[:i] {
			err = errors.Join(err, move(filepath.Join(c.dir, e.Name()), filepath.Join(c.tree, e.Name())))
		}
		return err
	}
	return nil
}

// came is the error for a target that somebody else has created meanwhile.
func came(path string) error {
	return diag.Hint(fmt.Errorf("%s was created meanwhile, and is left alone", path), "name another DIR")
}

// move renames to a path that must not exist. If the file system cannot guarantee that, it
// checks.
func move(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		if _, err = os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(from, to)
		} else if err == nil {
			err = unix.EEXIST
		}
	}
	if errors.Is(err, unix.EEXIST) {
		return came(to)
	} else if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// checkOutControl checks out the control branch in a sibling directory of the clone, through a
// temporary directory.
func (c *cloner) checkOutControl(names branches.Names) (err error) {
	room, err := scratch.Make(filepath.Dir(c.dir), "clone-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, room.Remove()) }()
	made, to := filepath.Join(room.Path, filepath.Base(c.dir)+besideDir), c.dir+besideDir
	if err := c.git("-C", c.dir, "worktree", "add", "--quiet", "--track", "-b", names.Branch, made, "origin/"+names.Branch); err != nil {
		return err
	}
	// git worktree move would move it into a directory that was created meanwhile.
	if err = move(made, to); err != nil {
		return errors.Join(err, c.git("-C", c.dir, "worktree", "remove", "--force", made), c.git("-C", c.dir, "branch", "--quiet", "-D", names.Branch))
	}
	// It says what it mends.
	if _, err := git.Command(c.ctx, c.env.Dir, git.Elsewhere(os.Environ()), "-C", c.dir, "worktree", "repair", to).Output(); err != nil {
		return fmt.Errorf("git worktree repair: %w", err)
	}
	return nil
}

// git runs git as the user does.
func (c *cloner) git(args ...string) error {
	// The user's own settings apply, for keys and addresses; a template's hooks do not.
	cmd := git.Command(c.ctx, c.env.Dir, git.Elsewhere(os.Environ()), args...).AtTerminal()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env.Stdin, c.env.Stdout, c.env.Stderr
	defer c.env.Slow("git " + verb(args))()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w", verb(args), err)
	}
	return nil
}

// verb is what a git command line does.
func verb(args []string) string {
	if args[0] == "-C" {
		args = args[2:]
	}
	return args[0]
}

// clone clones, and fetches what git clone leaves out.
func (c *cloner) clone(url string) error {
	fmt.Fprintf(c.env.Stderr, "Cloning into '%s'...\n", c.dir) // as git says of where it is made
	if err := c.git("clone", "--quiet", "--", url, c.tree); err != nil && !c.unfiltered() {
		return err
	}
	for _, args := range [][]string{
		{"-C", c.tree, "config", "--add", "remote.origin.fetch", "refs/ward/*:refs/ward/*"},
		{"-C", c.tree, "config", "--add", "remote.origin.fetch", "refs/notes/*:refs/notes/*"},
		{"-C", c.tree, "config", "pull.rebase", "true"},
		{"-C", c.tree, "config", "ward.principal", "pm"},
		{"-C", c.tree, "config", "merge.ward-lessons.name", "lessons, by id"},
		{"-C", c.tree, "config", "merge.ward-lessons.driver", "git-ward lesson merge %O %A %B"},
		{"-C", c.tree, "fetch", "--quiet", "origin"},
	} {
		if err := c.git(args...); err != nil {
			return err
		}
	}
	return nil
}

// unfiltered checks out what git clone could not, because a filter of the user's settings failed:
// one that fetches large files finds none where only git's objects are. The files are then what
// the repository stores, as the agent and the host have them.
func (c *cloner) unfiltered() bool {
	if _, err := os.Stat(filepath.Join(c.tree, ".git")); err != nil || c.ctx.Err() != nil {
		return false // git keeps a clone of which only the checkout failed
	}
	info := filepath.Join(c.tree, ".git", "info")
	if os.MkdirAll(info, 0o777) != nil || os.WriteFile(filepath.Join(info, "attributes"), []byte("* -filter\n"), 0o666) != nil || c.git("-C", c.tree, "reset", "--quiet", "--hard") != nil {
		return false
	}
	fmt.Fprintf(c.env.Stderr, "git-ward: warning: a filter of your git failed (above), so files in this clone are as the repository stores them\ngit-ward: hint: without `* -filter` in .git/info/attributes the filter runs again\n")
	return true
}

// names finds the names of the two branches and stores them for later commands.
func (c *cloner) names() (names branches.Names, err error) {
	repo, err := git.Named(c.ctx, c.tree)
	if err != nil {
		return names, err
	}
	if c.control != "" {
		if id, err := repo.Ref(c.ctx, "refs/remotes/origin/"+c.control); err != nil || id == git.Zero {
			return names, diag.Hint(errors.Join(err, fmt.Errorf("origin has no branch %s", c.control)), "ask for one of them: git ls-remote --heads URL")
		}
		if err := c.git("-C", c.tree, "config", branches.ControlKey, c.control); err != nil {
			return names, err
		}
	}
	if names, err = branches.Of(c.ctx, repo); err != nil {
		return names, err
	}
	for key, name := range map[string]string{branches.ControlKey: names.Branch, branches.ProjectKey: names.Project} {
		if err := c.git("-C", c.tree, "config", key, name); err != nil {
			return names, err
		}
	}
	return names, nil
}

// look warns if the supposed control branch has no COMMS.md: init may have used another name,
// which a clone cannot know.
func (c *cloner) look(names branches.Names) error {
	repo, err := git.Named(c.ctx, c.tree)
	if err != nil {
		return err
	}
	batch := repo.Batch(c.ctx)
	defer batch.Close()
	if _, err := batch.Info(names.ControlRef() + ":" + comms.Path); !errors.Is(err, git.ErrMissing) {
		return err
	}
	fmt.Fprintf(c.env.Stderr, "git-ward: warning: origin's branch %s has no COMMS.md\ngit-ward: hint: if the control branch has another name, clone again with --control BRANCH\n", names.Branch)
	return nil
}

// say tells where things are and what comes next.
func (c *cloner) say(dir, controlDir string, names branches.Names) {
	w := c.env.Stdout
	if names.Split() {
		fmt.Fprintf(w, "cloned into %s (%s, the project) and %s (%s, Ward's documents), with the audit\n", dir, names.Project, controlDir, names.Branch)
		fmt.Fprintf(w, "next: cd %s, write a directive under `## Directives` in COMMS.md, commit, push; git ward log shows every push\n", diag.Word(controlDir))
		return
	}
	fmt.Fprintf(w, "cloned into %s, with the audit\nnext: write a directive under `## Directives` in COMMS.md, commit, push; git ward log shows every push\n", dir)
}
