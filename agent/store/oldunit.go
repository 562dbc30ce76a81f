package store

import (
	"context"
	"fmt"
	"strings"

	"git-ward/internal/git"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
)

// papers are the files of the branch that a unit of the first version keeps there, and
// its record begins with: the directive's evidence, the learnings, and the plans and
// post-mortems that the project does not have so.
func (w *Work) papers(ctx context.Context) (map[string][]byte, error) {
	own, err := w.ownPapers(ctx)
	if err != nil {
		return nil, err
	}
	out, err := w.clone.git(ctx, "--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", record.Learnings, loop.Dir(w.Directive.Name())+"/")
	if err != nil {
		return nil, err
	}
	batch := git.Open(w.clone.gitDir()).Batch(ctx)
	defer batch.Close()
	files := map[string][]byte{}
	for _, c := range append(own, paths(out)...) {
		if c.Status == "D" {
			continue
		}
		object, data, err := batch.Read("HEAD:"+c.Path, recordSize)
		if err != nil {
			return nil, err
		}
		if object.Kind == "blob" {
			files[c.Path] = data
		}
	}
	return files, nil
}

// paths are those of a list that git ends with NUL.
func paths(out string) (list []Change) {
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" {
			list = append(list, Change{Path: name})
		}
	}
	return list
}

// ownPapers are the papers by which the branch differs from the project.
func (w *Work) ownPapers(ctx context.Context) (list []Change, err error) {
	base, err := w.forked(ctx)
	if err != nil {
		return nil, err
	}
	all, err := w.differences(ctx, base)
	for _, c := range all {
		if record.Listed(w.Directive.Name(), c.Path) {
			list = append(list, c)
		}
	}
	return list, err
}

// forked is where the branch left the project.
func (w *Work) forked(ctx context.Context) (string, error) {
	return w.clone.git(ctx, "merge-base", "HEAD", w.clone.store.projectRef())
}

// takeOff makes one commit that puts the papers on the branch back to what the project
// has: from now on they are on the record.
func (w *Work) takeOff(ctx context.Context) error {
	list, err := w.ownPapers(ctx)
	if err != nil || len(list) == 0 {
		return err
	}
	base, err := w.forked(ctx)
	if err != nil {
		return err
	}
	var names strings.Builder
	for _, c := range list {
		names.WriteString(c.Path + "\x00")
	}
	if _, _, err := w.clone.store.runInput(ctx, w.clone.dir, names.String(), "--literal-pathspecs", "restore", "--source="+base, "--staged", "--worktree",
		"--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
		return err
	}
	text := message(fmt.Sprintf("leave the papers of %s to its record", w.Record.id), "", []string{
		record.TrailerDirective + ": " + w.Directive.Name(), record.TrailerRecord + ": " + w.Record.Ref()}) + "\n"
	if _, _, err := w.clone.store.runInput(ctx, w.clone.dir, text, "commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--file=-"); err != nil {
		return err
	}
	if w.since, err = w.Head(ctx); err != nil {
		return err
	}
	project, err := w.clone.resolve(ctx, w.clone.store.projectRef())
	if err == nil { // whose own papers were in the way till now
		err = w.mergeMain(ctx, w.since, project)
	}
	if err == nil {
		w.base, err = w.Head(ctx)
	}
	return err
}
