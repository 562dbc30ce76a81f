package plan

import (
	"errors"
	"io/fs"
	"strings"

	"git-ward/internal/diag"
	"git-ward/protocols/record"
)

// NewRecordLinter makes a Linter of plans that lie on a unit's record (REC-4): what
// their steps do to files is judged in the tree of the work, where the record's papers
// are below .ward/; machines, the registry and the plans that it names are control's.
// Other plans are the record's, or else the work's, or else control's.
func NewRecordLinter(papers, work, control Tree) *Linter {
	machines := func(path string) ([]byte, error) { return control.ReadFile(path, MaxBytes) }
	l := NewLinter(withPapers{work, papers}, machines)
	l.sources = &sources{inOrder: []Tree{papers, work, control}, control: control}
	return l
}

// withPapers is the working tree of an agent: the work, and the record's papers below
// .ward/.
type withPapers struct{ work, papers Tree }

func (t withPapers) at(path string) (Tree, string) {
	if path == record.Dir {
		return t.papers, "."
	}
	if below, ok := strings.CutPrefix(path, record.Dir+"/"); ok {
		return t.papers, below
	}
	return t.work, path
}

// Kind implements Tree.
func (t withPapers) Kind(path string) (Kind, error) {
	tree, path := t.at(path)
	return tree.Kind(path)
}

// ReadFile implements Tree.
func (t withPapers) ReadFile(path string, limit int64) ([]byte, error) {
	tree, path := t.at(path)
	return tree.ReadFile(path, limit)
}

// sources is where plans are read from.
type sources struct {
	inOrder    []Tree
	control    Tree
	registered map[string]bool // paths; nil before the registry is read
}

// tree is the one that has the plan of a path, the last where none has it.
func (s *sources) tree(path string) (Tree, error) {
	if s.registered == nil {
		data, err := s.control.ReadFile(RegistryPath, MaxRegistryBytes)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, diag.ErrTooLarge) {
			return nil, err
		}
		registry, _ := ParseRegistry(data)
		s.registered = make(map[string]bool, len(registry.Entries))
		for _, e := range registry.Entries {
			s.registered[e.Path] = true
		}
	}
	if path == RegistryPath || s.registered[path] {
		return s.control, nil
	}
	for _, t := range s.inOrder {
		if kind, err := t.Kind(path); err != nil || kind != Missing {
			return t, err
		}
	}
	return s.control, nil
}

// Kind implements Tree.
func (s *sources) Kind(path string) (Kind, error) {
	t, err := s.tree(path)
	if err != nil {
		return Missing, err
	}
	return t.Kind(path)
}

// ReadFile implements Tree.
func (s *sources) ReadFile(path string, limit int64) ([]byte, error) {
	t, err := s.tree(path)
	if err != nil {
		return nil, err
	}
	return t.ReadFile(path, limit)
}
