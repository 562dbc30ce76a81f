package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"git-ward/internal/diag"
	"git-ward/internal/git"
)

// project is a bare repository with a history, as people have them: a default branch of any
// name, tags, a hook, files that are called like Ward's, a config with comments.
func project(t *testing.T, branch string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	gitIn(t, dir, "init", "-q", "--bare", "--initial-branch="+branch, dir)
	tip := ""
	for i, version := range []string{"v1.0.0", "v1.1.0", "v2.0.0"} {
		tip = commit(t, dir, tip, map[string]string{"VERSION": version + "\n", "AGENTS.md": "Ours.\n", "CLAUDE.md": "Ours, too.\n", "plans/next.txt": "Rest.\n",
			"logs/README.md": "Of the library logs.\n", ".gitignore": "*.o\n", "COMMS.md": "Talks.\n", "n": fmt.Sprint(i)})
		gitIn(t, dir, "tag", version, tip)
	}
	gitIn(t, dir, "update-ref", "refs/heads/"+branch, tip)
	gitIn(t, dir, "update-ref", "refs/heads/topic", "v1.1.0")
	gitIn(t, dir, "pack-refs", "--all")
	overwrite(t, filepath.Join(dir, "hooks/pre-receive"), "#!/bin/sh\necho \"hook $0\" >&2\n")
	overwrite(t, filepath.Join(dir, "hooks/update"), "#!/bin/sh\nexit 0\n")
	overwrite(t, filepath.Join(dir, "config"), "# The library's own.\n[core]\n\trepositoryformatversion = 0\n  bare=true\n[receive]\n\tdenyDeletes = yes ; never\n\tfsckobjects = no\n\thideRefs = refs/secret\n[gc]\n; ours\n\tauto = 1234\n")
	return dir
}

// commit makes a commit of some files on another one, "" for none, and no ref of it.
func commit(t *testing.T, dir, parent string, files map[string]string) string {
	t.Helper()
	in := newInstaller(Request{Dir: dir})
	data := map[string][]byte{}
	for name, text := range files {
		data[name] = []byte(text)
	}
	tree, err := in.writeTree(t.Context(), git.Zero, data)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"commit-tree", "-m", "commit", tree}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	return gitIn(t, dir, args...)
}

// contents is all of a repository but its objects: each path with its mode and its bytes, and
// each ref.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{"refs": gitIn(t, dir, "for-each-ref"), "HEAD": gitIn(t, dir, "symbolic-ref", "HEAD")}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		first, _, _ := strings.Cut(rel, "/")
		if err != nil || first == "objects" || first == "refs" || rel == "." || rel == "packed-refs" {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		text := ""
		if to, err := os.Readlink(path); err == nil {
			text = to
		} else if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		all[rel] = fmt.Sprint(info.Mode(), " ", info.Sys().(*syscall.Stat_t).Gid, " ", text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differ names what is different in two states.
func differ(a, b map[string]string) (list []string) {
	for key, text := range a {
		if b[key] != text {
			list = append(list, fmt.Sprintf("%s was %.300q, is %.300q", key, text, b[key]))
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			list = append(list, key+" is new")
		}
	}
	slices.Sort(list)
	return list
}

// TestAdopts: no branch, tag or HEAD of a project changes, whatever its default branch is
// called and its files; Ward's documents have a branch of their own, which shares nothing
// with it (CTRL-1).
func TestAdopts(t *testing.T) {
	for _, branch := range []string{"master", "main", "release/2.x"} {
		want := request(t, project(t, branch))
		before := gitIn(t, want.Dir, "for-each-ref")
		changes := run(t, want)
		for _, change := range []string{
			"kept hooks/pre-receive as hooks.chained/pre-receive; it runs after Ward's",
			"committed the template to ward: AGENTS.md COMMS.md protocols",
		} {
			if !slices.Contains(changes, change) {
				t.Errorf("no %q in %q", change, changes)
			}
		}
		var others []string
		for _, line := range strings.Split(gitIn(t, want.Dir, "for-each-ref"), "\n") {
			if !strings.Contains(line, "refs/ward/") && !strings.Contains(line, "refs/notes/") && !strings.HasSuffix(line, "refs/heads/ward") {
				others = append(others, line)
			}
		}
		if after := strings.Join(others, "\n"); after != before {
			t.Errorf("refs were\n%s\nand are\n%s", before, after)
		}
		if got := gitIn(t, want.Dir, "symbolic-ref", "HEAD"); got != "refs/heads/"+branch {
			t.Error(got)
		}
		if got := gitIn(t, want.Dir, "rev-list", "--count", "ward"); got != "1" {
			t.Error(got)
		}
		gitIn(t, want.Dir, "fsck", "--strict")
		done, err := Run(t.Context(), want)
		if err != nil || len(done.Changes) > 0 || done.Settings.Control.Branch != "ward" || done.Settings.Control.Project != branch {
			t.Errorf("again: %+v, %v", done, err)
		}
	}
}

// TestDryRun: a dry run changes no byte, and says what the run then does.
func TestDryRun(t *testing.T) {
	want := request(t, project(t, "master"))
	before := contents(t, want.Dir)
	want.DryRun = true
	planned, err := Run(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := differ(before, contents(t, want.Dir)); len(diff) > 0 {
		t.Errorf("a dry run changed %q", diff)
	}
	want.DryRun = false
	done, err := Run(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	last := len(done.Changes) - 1 // the audit's record of all this
	if done.Changes[last].Verb != "record" || !slices.Equal(planned.Changes, done.Changes[:last]) {
		t.Errorf("planned %q\ndone %q", planned.Changes, done.Changes)
	}
	fresh := request(t, filepath.Join(t.TempDir(), "new.git"))
	fresh.DryRun = true
	if _, err := Run(t.Context(), fresh); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(fresh.Dir); err == nil {
		t.Error("a dry run made the repository")
	}
}

// TestOldForm: with the project's own branch as control branch the documents are added to
// it, and what stands in it is not changed.
func TestOldForm(t *testing.T) {
	want := request(t, project(t, "trunk"))
	old := gitIn(t, want.Dir, "rev-parse", "trunk")
	gitIn(t, want.Dir, "update-ref", "refs/heads/trunk", commit(t, want.Dir, old, map[string]string{"AGENTS.md": "Ours.\n"}))
	want.Control = "trunk"
	changes := run(t, want)
	for _, change := range []string{
		"kept your AGENTS.md: move its text to protocols/project.protocol.md before git ward protocol compile replaces it",
		"committed the template to trunk: COMMS.md protocols",
	} {
		if !slices.Contains(changes, change) {
			t.Errorf("no %q in %q", change, changes)
		}
	}
	if got := gitIn(t, want.Dir, "cat-file", "blob", "trunk:AGENTS.md"); got != "Ours." {
		t.Error(got)
	}
	want.Control = "other"
	if _, err := Run(t.Context(), want); err == nil || !strings.Contains(err.Error(), "is trunk since init, not other") {
		t.Error(err)
	}
}

// TestRefuses: what Ward cannot guard is refused by one line and a remedy, and left as it
// was to the byte.
func TestRefuses(t *testing.T) {
	in := func(branch string, breakIt func(dir string)) string {
		dir := project(t, branch)
		breakIt(dir)
		return dir
	}
	worktree, folder, sha256 := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "s.git")
	gitIn(t, filepath.Join(worktree, ".git"), "init", "-q", worktree)
	overwrite(t, filepath.Join(folder, "f"), "")
	gitIn(t, sha256, "init", "-q", "--bare", "--object-format=sha256", sha256)
	for _, c := range []struct{ dir, want string }{
		{worktree, "is a repository with a work tree"},
		{folder, "is neither empty nor a bare git repository"},
		{sha256, "uses sha256 object ids"},
		{in("master", func(d string) { overwrite(t, d+"/shallow", gitIn(t, d, "rev-parse", "v1.0.0")+"\n") }), "is shallow"},
		{in("master", func(d string) { overwrite(t, d+"/objects/info/alternates", d+"/objects\n") }), "borrows objects"},
		{in("master", func(d string) { gitIn(t, d, "config", "extensions.partialClone", "origin") }), "is a partial clone"},
		{in("master", func(d string) { gitIn(t, d, "symbolic-ref", "HEAD", "refs/heads/none") }), "HEAD of .* names refs/heads/none, which has no commit"},
		{in("master", func(d string) { overwrite(t, d+"/HEAD", gitIn(t, d, "rev-parse", "master")+"\n") }), "is detached"},
		{in("master", func(d string) {
			gitIn(t, d, "update-ref", "-d", "refs/heads/master")
			gitIn(t, d, "update-ref", "-d", "refs/heads/topic")
		}), "has refs, but no branch"},
		{in("master", func(d string) { gitIn(t, d, "branch", "ward", "topic") }), "the branch ward is the project's own"},
		{in("ward", func(string) {}), "the branch ward is the project's own"},
		{in("master", func(d string) { gitIn(t, d, "branch", "ward/x", "topic") }), "stands in the way of a branch ward"},
		{in("master", func(d string) { gitIn(t, d, "branch", "agent", "topic") }), "stands where the agent's agent/... are to be"},
		{in("agent/x", func(string) {}), "which is the agent's"},
		{in("master", func(d string) { overwrite(t, d+"/refs/heads/ward", "ref: refs/heads/none\n") }), "the branch ward of .* is a symbolic ref to refs/heads/none"},
		{in("master", func(d string) { gitIn(t, d, "update-ref", "refs/notes/audit", "topic") }), "refs/notes/audit is the project's own"},
		{in("master", func(d string) { gitIn(t, d, "update-ref", "refs/ward/mine", "topic") }), "refs/ward/mine is the project's own"},
		{in("master", func(d string) {
			if err := os.Symlink(d+"/hooks/pre-receive", d+"/hooks/post-receive"); err != nil {
				t.Fatal(err)
			}
		}), "is a link to .*, where Ward puts its own hook"},
		{in("master", func(d string) {
			overwrite(t, d+"/hooks/pre-receive", "#!/bin/sh\nfor h in hooks/pre-receive.d/*; do $h; done\n")
			if err := os.Mkdir(d+"/hooks/pre-receive.d", 0o755); err != nil {
				t.Fatal(err)
			}
			overwrite(t, d+"/hooks/pre-receive.d/ward", "#!/bin/sh\n")
		}), "hooks/pre-receive.d/ward is not Ward's"},
		{in("master", func(d string) { gitIn(t, d, "config", "core.hooksPath", folder) }), "which other repositories may use"},
		{in("master", func(d string) {
			overwrite(t, d+"/extra", "[core]\n\thooksPath = /nowhere\n")
			gitIn(t, d, "config", "include.path", "extra")
		}), "is set by a file that its config includes"},
		{in("master", func(d string) {
			if err := errors.Join(os.RemoveAll(d+"/hooks"), os.Symlink(folder, d+"/hooks")); err != nil {
				t.Fatal(err)
			}
		}), "which other repositories may use"},
	} {
		before := map[string]string{}
		if strings.HasSuffix(c.dir, "r.git") && !strings.Contains(c.want, "detached") {
			before = contents(t, c.dir)
		}
		_, err := Run(t.Context(), request(t, c.dir))
		var hinted *diag.Hinted
		if err == nil || !matches(c.want, err.Error()) || strings.Contains(err.Error(), "\n") || !errors.As(err, &hinted) && c.dir != sha256 {
			t.Errorf("%v, want %q and a remedy", err, c.want)
		}
		if len(before) > 0 {
			if diff := differ(before, contents(t, c.dir)); len(diff) > 0 {
				t.Errorf("%s: it changed %q", c.want, diff)
			}
		}
		if _, err := os.Stat(filepath.Join(c.dir, "ward")); err == nil {
			t.Errorf("%s: it made ward/", c.want)
		}
	}
}

// TestSymbolicBranch: a branch of the settings that somebody has made another's name since is named,
// and the remedy mends it.
func TestSymbolicBranch(t *testing.T) {
	dir := project(t, "master")
	if _, err := Run(t.Context(), request(t, dir)); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "update-ref", "refs/heads/real", "master")
	for _, c := range [][2]string{{"master", "real"}, {"ward", "real"}, {"ward", "none"}} {
		branch := c[0]
		gitIn(t, dir, "symbolic-ref", "refs/heads/"+branch, "refs/heads/"+c[1])
		_, err := Run(t.Context(), request(t, dir))
		var hinted *diag.Hinted
		if err == nil || !matches("the branch "+branch+" of .* is a symbolic ref to refs/heads/"+c[1], err.Error()) || !errors.As(err, &hinted) {
			t.Fatalf("%s: %v", branch, err)
		}
		_, command, _ := strings.Cut(hinted.Hint, ": git ")
		gitIn(t, dir, strings.Fields(command)...)
		if _, err := Run(t.Context(), request(t, dir)); err != nil {
			t.Errorf("%s, after %q: %v", branch, command, err)
		}
	}
}

// TestKeepsChainedScript: a script that somebody put where a link of theirs went stays, when a
// forge writes its link anew.
func TestKeepsChainedScript(t *testing.T) {
	want := request(t, project(t, "master"))
	link, chained := filepath.Join(want.Dir, "hooks/post-update"), filepath.Join(want.Dir, "hooks.chained/post-update")
	if err := os.Symlink("pre-receive", link); err != nil {
		t.Fatal(err)
	}
	overwrite(t, filepath.Join(want.Dir, "hooks/pre-receive"), "#!/bin/sh\n")
	run(t, want)
	if err := errors.Join(os.Remove(chained), os.Remove(link), os.Symlink("pre-receive", link)); err != nil {
		t.Fatal(err)
	}
	overwrite(t, chained, "theirs")
	if _, err := Run(t.Context(), want); err == nil || !strings.Contains(err.Error(), "are somebody else's hooks") {
		t.Error(err)
	}
	if data, err := os.ReadFile(chained); string(data) != "theirs" {
		t.Error(err)
	}
}
