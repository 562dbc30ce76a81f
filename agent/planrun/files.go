package planrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"git-ward/internal/worktree"
	"git-ward/protocols/mergediff"
	"git-ward/protocols/plan"
	"git-ward/protocols/record"
)

// inTree refuses a path that, or whose loop variables, could leave the tree.
func inTree(path string) error {
	if bad := plan.BadPath(path); bad != "" {
		return fmt.Errorf("the path %q %s", path, bad)
	}
	return nil
}

// place is a step's path in the working tree: research results are among the record's files.
func (u *run) place(p point, path string) string {
	if u.deps.Record != nil && p.research() && strings.HasPrefix(path, record.Research+"/") {
		return worktree.RecordDir + "/" + path
	}
	return path
}

func (u *run) readFile(path string) (string, error) {
	if err := inTree(path); err != nil {
		return "", err
	}
	data, err := u.deps.Tree.Read(path, maxFile)
	return strings.ToValidUTF8(string(data), "\ufffd"), err
}

// openRoot opens the working tree for a step's paths.
func (u *run) openRoot(paths ...string) (*os.Root, error) {
	var found error
	for _, path := range paths {
		found = errors.Join(found, inTree(path))
	}
	if found != nil {
		return nil, found
	}
	return os.OpenRoot(u.deps.Tree.Dir)
}

func (u *run) listFiles(path string) (string, error) {
	if path == "" {
		path = "."
	}
	root, err := u.openRoot(path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), path)
	var b strings.Builder
	for _, e := range entries {
		if path == "." && (e.Name() == ".git" || e.Name() == worktree.RecordDir) {
			continue
		}
		b.WriteString(e.Name())
		if e.IsDir() {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	return b.String(), err
}

// grep searches the tracked files, so that the result is reproducible.
func (u *run) grep(ctx context.Context, p point) (string, error) {
	pattern, in := p.GrepArgs()
	expression, err := regexp.Compile(plan.Fill(pattern, p.files))
	if err != nil {
		return "", err
	}
	names, err := u.searched(ctx, u.place(p, plan.Fill(in, p.files)))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	matches := 0
	for _, name := range names {
		data, err := u.deps.Tree.Read(name, maxFile)
		if err != nil || strings.ContainsRune(string(data[:min(len(data), 8000)]), 0) {
			continue // a link, a large file, not text
		}
		line := 0
		for text := range strings.Lines(string(data)) {
			line++
			if !expression.MatchString(strings.TrimSuffix(text, "\n")) {
				continue
			}
			fmt.Fprintf(&b, "%s:%d:%s\n", name, line, strings.ToValidUTF8(strings.TrimSuffix(text, "\n"), "\ufffd"))
			if matches++; matches == maxMatches {
				return b.String(), nil
			}
		}
	}
	return b.String(), nil
}

// searched are the files that grep searches: the record's only if they are named.
func (u *run) searched(ctx context.Context, in string) ([]string, error) {
	list := []string{"ls-files", "-z", "--cached"}
	if in != "" {
		if err := inTree(in); err != nil {
			return nil, err
		}
		if worktree.InRecord(in) {
			return u.deps.Tree.Walk(in, func(string) bool { return true })
		}
		list = append(list, "--", ":(literal)"+in)
	}
	names, err := u.deps.Tree.Git(ctx, list...)
	return strings.Split(strings.TrimSuffix(names, "\x00"), "\x00"), err
}

// change applies a step to a file.
func (u *run) change(p point, path string) (string, error) {
	if p.Tool == plan.RenameFile {
		return u.rename(p)
	}
	root, err := u.openRoot(path)
	if err != nil {
		return "", err
	}
	defer root.Close()
	_, statErr := root.Lstat(filepath.FromSlash(path))
	switch p.Tool {
	case plan.DeleteFile:
		return "deleted " + path, root.Remove(filepath.FromSlash(path))
	case plan.CreateFile:
		if statErr == nil {
			return "", fmt.Errorf("%s exists", path)
		}
		if !errors.Is(statErr, fs.ErrNotExist) {
			return "", statErr
		}
	case plan.ReplaceDiff:
		return u.replace(path, p.Block)
	}
	text := p.Block
	if p.research() {
		text = u.research.report(text)
	}
	return fmt.Sprintf("wrote %s, %d bytes", path, len(text)), u.deps.Tree.Write(path, []byte(text))
}

func (u *run) rename(p point) (string, error) {
	old, name := p.RenameArgs()
	old, name = u.place(p, plan.Fill(old, p.files)), u.place(p, plan.Fill(name, p.files))
	root, err := u.openRoot(old, name)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if _, err := root.Lstat(filepath.FromSlash(name)); err == nil {
		return "", fmt.Errorf("%s exists", name)
	}
	if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o755); err != nil {
		return "", err
	}
	return fmt.Sprintf("renamed %s to %s", old, name), root.Rename(filepath.FromSlash(old), filepath.FromSlash(name))
}

func (u *run) replace(path, diff string) (string, error) {
	hunks, err := mergediff.Parse(diff)
	if err != nil {
		return "", fmt.Errorf("the merge diff: %w", err)
	}
	data, err := u.deps.Tree.Read(path, maxFile)
	if err != nil {
		return "", err
	}
	data, err = mergediff.Apply(data, hunks)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Sprintf("replaced %d places of %s", len(hunks), path), u.deps.Tree.Write(path, data)
}
