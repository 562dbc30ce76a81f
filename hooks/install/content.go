package install

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/charter"
	"git-ward/protocols/comms"
)

const mainRef = "refs/heads/main"

// content makes the first commit, or adds the documents to a main without
// COMMS.md; what stands there is never changed.
func (in *installer) content(ctx context.Context) error {
	main, err := in.repo.Ref(ctx, mainRef)
	if err != nil {
		return err
	}
	if err := in.head(ctx, main); err != nil {
		return err
	}
	files, err := readFiles(in.Template)
	if err != nil {
		return err
	}
	subject := "ward: first commit, from the template"
	if main != git.Zero {
		there, err := in.topNames(ctx, main)
		if err != nil || there[comms.Path] {
			return err
		}
		subject = "ward: add the documents that Ward works with"
		maps.DeleteFunc(files, func(path string, _ []byte) bool { return there[top(path)] })
		if there[charter.Compiled] && !there[top(charter.Dir)] {
			in.report.did("kept your %s: move its text to %sproject.protocol.md before git ward protocol compile replaces it", charter.Compiled, charter.Dir)
		}
	}
	tree, err := in.writeTree(ctx, main, files)
	if err != nil {
		return err
	}
	commit, err := in.repo.CommitTree(git.Ward, tree, main, time.Now(), subject)
	if err != nil {
		return err
	}
	if err := in.repo.UpdateRefs(ctx, "ward: init", git.RefUpdate{Ref: mainRef, Old: main, New: commit}); err != nil {
		return err
	}
	in.report.did("committed the template to main: %s", strings.Join(topsOf(files), " "))
	return nil
}

// head makes HEAD, which a clone checks out, name main. A repository whose
// history is on a branch of another name is not touched: its owner renames it.
func (in *installer) head(ctx context.Context, main string) error {
	out, err := in.repo.Output(ctx, "symbolic-ref", "HEAD")
	if err != nil {
		return err
	}
	now := strings.TrimSpace(string(out))
	if now == mainRef {
		return nil
	}
	id, err := in.repo.Ref(ctx, now)
	if err != nil {
		return err
	}
	if id != git.Zero && main == git.Zero {
		name := strings.TrimPrefix(now, "refs/heads/")
		return diag.Hint(fmt.Errorf("the repository's branch is %s; Ward works with main", name),
			"git --git-dir=%s branch -m %s main, then run this again", in.Dir, name)
	}
	if id != git.Zero {
		return nil // the owner's choice
	}
	if _, err := in.repo.Output(ctx, "symbolic-ref", "HEAD", mainRef); err != nil {
		return err
	}
	in.report.did("made HEAD name main")
	return nil
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

// writeTree stores the tree of a commit (git.Zero for none) with more files, all of
// mode 100644, and returns its id. An index of its own holds it meanwhile: a bare
// repository has none.
func (in *installer) writeTree(ctx context.Context, commit string, files map[string][]byte) (string, error) {
	dir, err := os.MkdirTemp("", "ward-init-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	index := in.repo.WithIndex(filepath.Join(dir, "index"))
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
