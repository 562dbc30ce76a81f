// Package survey makes the index of a working tree: what its tracked files define, and
// what depends on what (002, phase 1; `git ward knowledge build`).
package survey

import (
	"bytes"
	"context"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"git-ward/internal/worktree"
	"git-ward/protocols/symbols"
)

// Made reports whether a path is that of a document of the index itself.
func Made(path string) bool {
	return strings.HasSuffix(path, symbols.SymbolsPath) || strings.HasSuffix(path, symbols.GraphPath)
}

// Document is a file of the index in a tree.
type Document struct {
	Path  string // in the tree
	Stale bool   // the tree has another text, or none
	data  []byte
}

// Documents are the files of the index, where the tree has its papers.
func (i *Index) Documents(ctx context.Context, tree *worktree.Tree) (list []Document, err error) {
	for _, doc := range []struct {
		path  string
		value any
	}{{symbols.SymbolsPath, i.Symbols}, {symbols.GraphPath, i.Graph}} {
		d := Document{}
		if d.Path, err = tree.RecordPath(ctx, doc.path); err != nil {
			return nil, err
		}
		if d.data, err = json.Marshal(doc.value, jsontext.WithIndent(" "), json.Deterministic(true)); err != nil {
			return nil, err
		}
		d.data = append(d.data, '\n')
		have, err := tree.Read(d.Path, 1<<30)
		d.Stale = err != nil || !bytes.Equal(have, d.data)
		list = append(list, d)
	}
	return list, nil
}

// Write puts it into the tree.
func (d Document) Write(tree *worktree.Tree) error { return tree.Write(d.Path, d.data) }

// Refresh updates the index of an agent's clone, and returns it. In a person's clone the index is
// part of the tree, and an unexpected change would disturb the next commit, so only
// `git ward knowledge build` updates it there; Refresh returns nil.
func Refresh(ctx context.Context, tree *worktree.Tree) (*Index, error) {
	if dir, err := tree.RecordDir(ctx); err != nil || dir == "" {
		return nil, err
	}
	index, err := Survey(ctx, tree)
	if err != nil {
		return nil, err
	}
	list, err := index.Documents(ctx, tree)
	for _, d := range list {
		if err == nil && d.Stale {
			err = d.Write(tree)
		}
	}
	return index, err
}
