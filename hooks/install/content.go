package install

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/internal/git"
	"git-ward/internal/scratch"
	"git-ward/protocols/charter"
	"git-ward/protocols/comms"
)

const heads = "refs/heads/"

// content makes the control branch's first commit, or adds the documents to a branch that is
// also the project's and lacks COMMS.md; it never changes existing files.
func (in *installer) content(ctx context.Context) error {
	ref, tip := in.branches.Ref(), git.Zero
	if !in.fresh || !in.DryRun {
		var err error
		if tip, err = in.repo.Ref(ctx, ref); err != nil {
			return err
		}
	}
	files, err := readFiles(in.Template)
	if err != nil {
		return err
	}
	subject := "ward: first commit, from the template"
	if tip != git.Zero {
		there, err := in.topNames(ctx, tip)
		if err != nil || there[comms.Path] {
			return err
		}
		subject = "ward: add the documents that Ward works with"
		maps.DeleteFunc(files, func(path string, _ []byte) bool { return there[top(path)] })
		if there[charter.Compiled] && !there[top(charter.Dir)] {
			in.report.Changes = append(in.report.Changes, change("keep", "your %s: move its text to %sproject.protocol.md before git ward protocol compile replaces it", charter.Compiled, charter.Dir))
		}
	}
	return in.do(change("commit", "the template to %s: %s", in.branches.Branch, strings.Join(topsOf(files), " ")), func() error {
		tree, err := in.writeTree(ctx, tip, files)
		if err != nil {
			return err
		}
		commit, err := in.repo.CommitTree(git.Ward, tree, tip, time.Now(), subject)
		if err != nil {
			return err
		}
		return in.repo.UpdateRefs(ctx, "ward: init", git.RefUpdate{Ref: ref, Old: tip, New: commit})
	})
}

// readFiles reads a file system: contents by path, with forward slashes.
func readFiles(fsys fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = fs.ReadFile(fsys, path)
		return err
	})
	return files, err
}

// topNames are the names at the top of a commit's tree.
func (in *installer) topNames(ctx context.Context, commit string) (map[string]bool, error) {
	out, err := in.repo.Output(ctx, "ls-tree", "-z", "--name-only", commit)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		names[name] = true
	}
	return names, nil
}

// writeTree stores a commit's tree (git.Zero for none) with additional files, all of mode
// 100644, and returns its id. It uses a temporary index, because a bare repository has none.
func (in *installer) writeTree(ctx context.Context, commit string, files map[string][]byte) (string, error) {
	dir, err := scratch.Make("", "init-")
	if err != nil {
		return "", err
	}
	defer dir.Remove()
	index := in.repo.WithIndex(filepath.Join(dir.Path, "index"))
	if commit != git.Zero {
		if _, err := index.Output(ctx, "read-tree", commit); err != nil {
			return "", err
		}
	}
	var entries strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		id, err := in.repo.WriteObject("blob", files[path])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&entries, "%o %s\t%s\x00", git.ModeFile, id, path)
	}
	if _, err := index.OutputFrom(ctx, []byte(entries.String()), "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	tree, err := index.Output(ctx, "write-tree")
	return strings.TrimSpace(string(tree)), err
}

// top is the first element of a path.
func top(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

// topsOf are the files and directories at the top of some files, sorted.
func topsOf(files map[string][]byte) []string {
	tops := map[string]bool{}
	for path := range files {
		tops[top(path)] = true
	}
	return slices.Sorted(maps.Keys(tops))
}
