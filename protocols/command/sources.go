// Package command has the git ward verbs of the pure packages of protocols/: it reads and
// writes the files of a working tree for them.
package command

import (
	"fmt"
	"os"

	"git-ward/internal/cli"
	"git-ward/internal/worktree"
	"git-ward/protocols/charter"
)

// Sources reads all sources of AGENTS.md in a working tree.
func Sources(t *worktree.Tree) (files []charter.File, err error) {
	paths, err := t.Walk(charter.Dir, charter.IsSource)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		// One byte more than allowed is enough for the finding.
		data, err := t.Read(path, charter.MaxTotal)
		if err != nil {
			return nil, err
		}
		files = append(files, charter.File{Path: path, Data: data})
	}
	return files, nil
}

// treeOf is the tree that a command works on: the directory that was named, or
// the working tree around the present one.
func treeOf(env *cli.Env, args []string) (*worktree.Tree, error) {
	if len(args) == 0 {
		return worktree.Find(env.Dir)
	}
	dir := env.Path(args[0])
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", args[0])
	}
	return &worktree.Tree{Dir: dir}, nil
}
