package orient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"git-ward/agent/correct"
	"git-ward/internal/worktree"
	"git-ward/protocols/knowledge"
	"git-ward/protocols/lesson"
	"git-ward/protocols/symbols"
)

// Repository is level 2: the repository's own knowledge.
type Repository struct {
	Commit     string     `json:"commit"`
	Branch     string     `json:"branch,omitempty"`
	Artifacts  []Artifact `json:"artifacts"` // of knowledge_core/
	PostMortem string     `json:"post_mortem,omitempty"`
	LastWords  string     `json:"last_words,omitempty"` // the post-mortem's text
	Earlier    []Earlier  `json:"earlier,omitempty"`
	// Lessons are the lessons of this branch and all others, sorted by id.
	Lessons []lesson.Lesson `json:"lessons"`
}

// Artifact is a file of knowledge_core/. Behind counts the commits since the last one that changed it,
// or is -1 if the file is on the control branch and the project on another, where the count would
// mean nothing.
type Artifact struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	Behind int    `json:"commits_behind"`
	Error  string `json:"error,omitempty"`
}

// wanted are artifacts whose absence is reported.
var wanted = []string{"symbols.json", "dependency_graph.json", "plan_registry.json", "lessons.jsonl"}

// maxArtifact bounds the bytes that are read of an artifact, maxWords those that are kept of the
// post-mortem.
const (
	maxArtifact = 64 << 20
	maxWords    = 16 << 10
)

func repository(ctx context.Context, o Options) (*Repository, error) {
	t := o.Tree
	r := &Repository{}
	var err error
	if r.Branch, r.Commit, err = t.Head(ctx); err != nil {
		return nil, errors.New("the branch has no commit yet")
	}
	r.Branch = strings.TrimPrefix(r.Branch, "refs/heads/")
	if r.Artifacts, err = artifacts(ctx, t); err != nil {
		return nil, err
	}
	if r.Lessons, _, err = correct.Known(ctx, t); err != nil {
		return nil, err
	}
	if r.Earlier, err = earlier(ctx, o); err != nil {
		return nil, err
	}
	if r.PostMortem, err = ownPostMortem(ctx, t); err != nil || r.PostMortem == "" {
		return r, err
	}
	text, err := t.Read(r.PostMortem, lesson.MaxPostMortem)
	r.LastWords = strings.ToValidUTF8(string(text[:min(len(text), maxWords)]), "?")
	return r, err
}

// artifacts lists the artifacts of the work tree or, in an adopted project, of the control branch.
func artifacts(ctx context.Context, t *worktree.Tree) (list []Artifact, err error) {
	control, err := t.Documents(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	if control == "" {
		list, err = committed(ctx, t, seen)
	} else {
		list, err = besides(ctx, t, control, seen)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range wanted {
		if path := knowledge.Dir + name; !seen[path] {
			list = append(list, Artifact{Path: path, Error: missing(name)})
		}
	}
	return list, nil
}

// besides lists the control branch's artifacts and those computed from the work tree.
func besides(ctx context.Context, t *worktree.Tree, control string, seen map[string]bool) (list []Artifact, err error) {
	out, err := t.Git(ctx, "ls-tree", "-r", "-l", "-z", "--full-tree", control, "--", knowledge.Dir)
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		head, path, ok := strings.Cut(line, "\t")
		if words := strings.Fields(head); ok && len(words) == 4 && !made(path) {
			size, _ := strconv.Atoi(words[3])
			list, seen[path] = append(list, Artifact{Path: path, Bytes: size, Behind: -1}), true
		}
	}
	for _, path := range []string{symbols.SymbolsPath, symbols.GraphPath} {
		where, err := t.RecordPath(ctx, path)
		if err != nil {
			return nil, err
		}
		if data, err := t.Read(where, maxArtifact); err == nil {
			list, seen[path] = append(list, Artifact{Path: where, Bytes: len(data), Behind: -1}), true
		}
	}
	return list, nil
}

// made reports whether an artifact is computed from the work tree.
func made(path string) bool { return path == symbols.SymbolsPath || path == symbols.GraphPath }

// committed lists the work tree's artifacts with their age.
func committed(ctx context.Context, t *worktree.Tree, seen map[string]bool) (list []Artifact, err error) {
	have, err := t.Walk(knowledge.Dir, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	for _, path := range have {
		seen[path] = true
		a := Artifact{Path: path}
		data, err := t.Read(path, maxArtifact)
		if err != nil {
			a.Error = err.Error()
		}
		a.Bytes = len(data)
		if a.Behind, err = behind(ctx, t, path); err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func missing(name string) string {
	if made(knowledge.Dir + name) {
		return "missing: git ward knowledge build makes it"
	}
	return "missing"
}

// behind counts the commits since the last one that changed a file; 0 for an uncommitted file.
func behind(ctx context.Context, t *worktree.Tree, path string) (int, error) {
	id, err := t.Git(ctx, "--literal-pathspecs", "log", "-1", "--format=%H", "--", path)
	if err != nil || id == "" {
		return 0, err
	}
	count, err := t.Git(ctx, "rev-list", "--count", id+"..HEAD")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return 0, fmt.Errorf("git rev-list --count: %w", errors.Join(err, fs.ErrInvalid))
	}
	return n, nil
}
