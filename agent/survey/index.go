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

// maxIndexed is how many files a tree may have that is indexed without being asked to: a
// larger one takes longer than the work that begins.
const maxIndexed = 5_000

// Index is what the tracked files of a tree define, and what depends on them.
type Index struct {
	Symbols *symbols.Symbols
	Graph   *symbols.Graph
}

// Survey reads all tracked files that a language of symbols covers.
func Survey(ctx context.Context, tree *worktree.Tree) (*Index, error) {
	paths, err := Tracked(ctx, tree)
	if err != nil {
		return nil, err
	}
	b := symbols.NewBuilder(paths)
	for _, p := range paths {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var data []byte
		if symbols.Wants(p) {
			if data, err = tree.Read(p, symbols.MaxFile); err != nil {
				b.Skip(p, err.Error())
				continue
			}
		}
		b.Add(p, data)
	}
	i := new(Index)
	i.Symbols, i.Graph = b.Build()
	return i, nil
}

// Tracked are the files that git has in a tree.
func Tracked(ctx context.Context, tree *worktree.Tree) ([]string, error) {
	out, err := tree.GitInput(ctx, nil, nil, "ls-files", "-z", "--cached", "--deduplicate")
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), err
}

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
		if d.Path, err = tree.Paper(ctx, doc.path); err != nil {
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

// Refresh brings the index of an agent's clone up to date with the work, unless the work
// is too large for that to go unnoticed.
func Refresh(ctx context.Context, tree *worktree.Tree) error {
	paths, err := Tracked(ctx, tree)
	if err != nil || len(paths) > maxIndexed {
		return err
	}
	index, err := Survey(ctx, tree)
	if err != nil {
		return err
	}
	list, err := index.Documents(ctx, tree)
	for _, d := range list {
		if err == nil && d.Stale {
			err = d.Write(tree)
		}
	}
	return err
}
