package survey

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/symbols"
)

// Index has the definitions in a tree's tracked files, and their dependencies.
type Index struct {
	Symbols *symbols.Symbols
	Graph   *symbols.Graph
	Tracked []string // paths of the tracked regular files
	Read    int      // files read now; the others come from the cache
}

// Bounds of one survey: bytes of files that are read, and time. What is left over is
// skipped and named, and read by the next one.
const (
	maxRead = 256 << 20
	maxTime = time.Minute
)

// errNoTime ends the reading of files, but not the survey.
var errNoTime = errors.New("there was no time for it: the next survey reads it")

// tracked is a tracked file.
type tracked struct {
	path string
	id   string // of its text, "" where the working tree may have another
}

// surveyor is one survey under way.
type surveyor struct {
	tree  *worktree.Tree
	kept  *kept
	files map[string]*symbols.File // by path
	tags  *tagger
	why   map[string]string // skipped, by path
	read  int
	bytes int
	end   time.Time
}

// Survey reads all tracked files that a language of symbols covers. Files whose text was
// read before, here or in another directory, are not read again.
func Survey(ctx context.Context, tree *worktree.Tree) (*Index, error) {
	list, err := list(ctx, tree)
	if err != nil {
		return nil, err
	}
	s := &surveyor{tree: tree, kept: openKept(ctx, tree), files: map[string]*symbols.File{}, tags: findTagger(ctx), why: map[string]string{}, end: time.Now().Add(maxTime)}
	var missing []tracked
	for _, f := range list {
		if !s.wants(f.path) || s.take(f) {
			continue
		}
		missing = append(missing, f)
	}
	err = s.readAll(ctx, missing)
	s.kept.save() // the next one goes on from what this one read
	if err != nil {
		return nil, err
	}
	return s.build(list), nil
}

func (s *surveyor) wants(p string) bool {
	return symbols.Wants(p) || s.tags != nil && symbols.Taggable(p)
}

// key is the cache key: a file's text, language and method.
func (s *surveyor) key(f tracked) string {
	how := ""
	if s.tags != nil && symbols.Taggable(f.path) {
		how = s.tags.version
	}
	return f.id + " " + strings.ToLower(path.Ext(f.path)) + how
}

// take uses a cached result.
func (s *surveyor) take(f tracked) bool {
	if f.id == "" {
		return false
	}
	file, ok := s.kept.get(s.key(f))
	if ok {
		s.files[f.path] = file
	}
	return ok
}

// readAll reads files, and has ctags read those for which it is better.
func (s *surveyor) readAll(ctx context.Context, list []tracked) error {
	var tagged []tracked
	for _, f := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.bytes > maxRead || time.Now().After(s.end) {
			s.why[f.path] = errNoTime.Error()
			continue
		}
		data, err := s.tree.Read(f.path, symbols.MaxFile)
		if err != nil {
			s.why[f.path] = reason(err)
			continue
		}
		s.bytes += len(data)
		if f.id == "" {
			if f.id = git.BlobID(data); s.take(f) {
				continue
			}
		}
		s.read++
		s.files[f.path] = symbols.Read(f.path, data)
		if s.tags != nil && symbols.Taggable(f.path) {
			tagged = append(tagged, f)
			continue
		}
		s.kept.put(s.key(f), s.files[f.path])
	}
	return s.tag(ctx, tagged)
}

// tag adds ctags's symbols. If it fails, files keep the symbols found line by line.
func (s *surveyor) tag(ctx context.Context, list []tracked) error {
	if len(list) == 0 {
		return nil
	}
	found, err := s.tags.run(ctx, s.tree.Dir, list)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, f := range list {
		file := s.files[f.path]
		if err != nil {
			file.Trouble = "ctags: " + reason(err)
			continue
		}
		file.Symbols, file.Tagged = found[f.path], true
		s.kept.put(s.key(f), file)
	}
	return nil
}

func (s *surveyor) build(list []tracked) *Index {
	var paths []string
	for _, f := range list {
		paths = append(paths, f.path)
	}
	b := symbols.NewBuilder(paths)
	for _, f := range list {
		if why := s.why[f.path]; why != "" {
			b.Skip(f.path, why)
			continue
		}
		b.Put(f.path, s.files[f.path])
	}
	i := &Index{Tracked: paths, Read: s.read}
	i.Symbols, i.Graph = b.Build()
	return i
}

// reason is an error without its directory.
func reason(err error) string {
	if _, ok := errors.AsType[*worktree.TooLarge](err); ok {
		return "it is larger than what is read"
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return diag.Clean(first)
}

// list are a tree's tracked regular files, with the blob ids of those unchanged in the working
// tree.
func list(ctx context.Context, tree *worktree.Tree) (files []tracked, err error) {
	out, err := tree.GitInput(ctx, nil, nil, "ls-files", "-z", "--stage")
	if err != nil {
		return nil, err
	}
	changed, err := tree.GitInput(ctx, nil, nil, "diff-files", "-z", "--name-only", "--no-ext-diff")
	if err != nil {
		return nil, err
	}
	differs := map[string]bool{}
	for name := range strings.SplitSeq(string(changed), "\x00") {
		differs[name] = true
	}
	last := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, ok := strings.Cut(line, "\t")
		words := strings.Fields(head)
		if !ok || len(words) != 3 || name == last || !strings.HasPrefix(words[0], "100") {
			continue // a link, a submodule, another side of a conflict
		}
		last = name
		f := tracked{path: name, id: words[1]}
		if differs[name] || words[2] != "0" {
			f.id = ""
		}
		files = append(files, f)
	}
	return files, nil
}
