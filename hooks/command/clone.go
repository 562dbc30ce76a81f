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
	"git-ward/protocols/comms"
)

const cloneUsage = "clone [--control BRANCH] URL [DIR]"

// besideDir is what the directory of the control branch is called after that of the
// project: a sibling, as working trees of git worktree usually are, so that no tool of the
// project meets it.
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
	if err := c.begin(); err != nil {
		return err
	}
	env.Leaves("the clone that was begun is removed")
	if err := c.make(args[0], args[1]); err != nil {
		return errors.Join(err, c.begun.undo())
	}
	return nil
}

// make makes the clone; name is how its user calls the directory.
func (c *cloner) make(url, name string) error {
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
	papers := name
	if names.Split() {
		papers += besideDir
		if err := c.begun.mkdir(c.dir + besideDir); err != nil {
			return err
		}
		if err := c.git("-C", c.dir, "worktree", "add", "--quiet", "--track", "-b", names.Branch, c.dir+besideDir, "origin/"+names.Branch); err != nil {
			return err
		}
	}
	c.say(name, papers, names)
	return nil
}

// cloner is one clone.
type cloner struct {
	ctx          context.Context
	env          *cli.Env
	dir, control string
	begun        begun
}

// begun is what a clone that fails or is interrupted takes back: git does so for its own
// part of the work alone.
type begun struct {
	made  []made
	empty *os.Root // a directory that somebody made for the clone; nil for none
}

// made is a directory as this clone made it: another one that stands there by now is
// somebody's.
type made struct {
	path string
	info fs.FileInfo
}

// mkdir makes a directory for git to work in, which must not be there yet.
func (b *begun) mkdir(path string) error {
	err := os.Mkdir(path, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return diag.Hint(fmt.Errorf("%s came to be there meanwhile", path), "name another DIR")
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(path)
	}
	if err == nil {
		b.made = append(b.made, made{path, info})
	}
	return err
}

// begin makes the directory, or sees that it is empty.
func (c *cloner) begin() error {
	entries, err := os.ReadDir(c.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(c.dir), 0o777); err != nil {
			return err
		}
		return c.begun.mkdir(c.dir)
	case err != nil:
		return diag.Hint(err, "name another DIR")
	case len(entries) > 0:
		return diag.Hint(fmt.Errorf("%s is there already, and not empty", c.dir), "name another DIR")
	}
	c.begun.empty, err = os.OpenRoot(c.dir)
	return err
}

// undo removes what the clone made.
func (b *begun) undo() (err error) {
	for _, m := range b.made {
		parent, fault := os.OpenRoot(filepath.Dir(m.path))
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		name := filepath.Base(m.path)
		if now, fault := parent.Lstat(name); fault == nil && os.SameFile(now, m.info) {
			err = errors.Join(err, parent.RemoveAll(name))
		}
		parent.Close()
	}
	if b.empty == nil {
		return err
	}
	entries, fault := fs.ReadDir(b.empty.FS(), ".")
	err = errors.Join(err, fault)
	for _, e := range entries {
		err = errors.Join(err, b.empty.RemoveAll(e.Name()))
	}
	return err
}

// git runs git as the user does.
func (c *cloner) git(args ...string) error {
	// The user's own settings hold, for keys and addresses; hooks of a template do not.
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

// clone clones, and fetches what git's own clone leaves out.
func (c *cloner) clone(url string) error {
	for _, args := range [][]string{
		{"clone", "--", url, c.dir},
		{"-C", c.dir, "config", "--add", "remote.origin.fetch", "refs/ward/*:refs/ward/*"},
		{"-C", c.dir, "config", "--add", "remote.origin.fetch", "refs/notes/*:refs/notes/*"},
		{"-C", c.dir, "config", "pull.rebase", "true"},
		{"-C", c.dir, "config", "ward.principal", "pm"},
		{"-C", c.dir, "config", "merge.ward-lessons.name", "lessons, by id"},
		{"-C", c.dir, "config", "merge.ward-lessons.driver", "git-ward lesson merge %O %A %B"},
		{"-C", c.dir, "fetch", "--quiet", "origin"},
	} {
		if err := c.git(args...); err != nil {
			return err
		}
	}
	return nil
}

// names finds out what the two branches are, and writes it down for every later command.
func (c *cloner) names() (names branches.Names, err error) {
	repo, err := git.Named(c.ctx, c.dir)
	if err != nil {
		return names, err
	}
	if c.control != "" {
		if id, err := repo.Ref(c.ctx, "refs/remotes/origin/"+c.control); err != nil || id == git.Zero {
			return names, diag.Hint(errors.Join(err, fmt.Errorf("origin has no branch %s", c.control)), "git -C %s branch --remotes", c.dir)
		}
		if err := c.git("-C", c.dir, "config", branches.ControlKey, c.control); err != nil {
			return names, err
		}
	}
	if names, err = branches.Of(c.ctx, repo); err != nil {
		return names, err
	}
	for key, name := range map[string]string{branches.ControlKey: names.Branch, branches.ProjectKey: names.Project} {
		if err := c.git("-C", c.dir, "config", key, name); err != nil {
			return names, err
		}
	}
	return names, nil
}

// look warns where what should be the control branch has no COMMS.md: init may have been
// told another name for it, which no clone can know.
func (c *cloner) look(names branches.Names) error {
	repo, err := git.Named(c.ctx, c.dir)
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
func (c *cloner) say(dir, papers string, names branches.Names) {
	w := c.env.Stdout
	if names.Split() {
		fmt.Fprintf(w, "cloned into %s (%s, the project) and %s (%s, Ward's documents), with the audit\n", dir, names.Project, papers, names.Branch)
		fmt.Fprintf(w, "next: cd %s, write a directive under `## Directives` in COMMS.md, commit, push; git ward log shows every push\n", papers)
		return
	}
	fmt.Fprintf(w, "cloned into %s, with the audit\nnext: write a directive under `## Directives` in COMMS.md, commit, push; git ward log shows every push\n", dir)
}
