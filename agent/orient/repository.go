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
)

// Repository is level 2: what the repository knows about itself.
type Repository struct {
	Commit     string     `json:"commit"`
	Branch     string     `json:"branch,omitempty"`
	Artifacts  []Artifact `json:"artifacts"` // of knowledge_core/
	PostMortem string     `json:"post_mortem,omitempty"`
	LastWords  string     `json:"last_words,omitempty"` // the post-mortem's text
	// Lessons are the branch's own and those of every other branch, by id.
	Lessons []lesson.Lesson `json:"lessons"`
}

// Artifact is a file of knowledge_core/. Behind counts the commits since it was
// last written.
type Artifact struct {
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	Behind int    `json:"commits_behind"`
	Error  string `json:"error,omitempty"`
}

// wanted are artifacts whose absence is worth a line.
var wanted = []string{"symbols.json", "dependency_graph.json", "plan_registry.json", "lessons.jsonl"}

// maxArtifact bounds what is read of one, maxWords what is kept of the
// post-mortem.
const (
	maxArtifact = 64 << 20
	maxWords    = 16 << 10
)

func repository(ctx context.Context, t *worktree.Tree) (*Repository, error) {
	r := &Repository{}
	var err error
	if r.Commit, err = t.Git(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return nil, errors.New("the branch has no commit yet")
	}
	r.Branch, _ = t.Git(ctx, "symbolic-ref", "--short", "--quiet", "HEAD") // detached: none
	if r.Artifacts, err = artifacts(ctx, t); err != nil {
		return nil, err
	}
	if r.Lessons, err = correct.Known(ctx, t); err != nil {
		return nil, err
	}
	// Their names begin with the date.
	names, err := t.Walk("postmortems", func(p string) bool { return strings.HasSuffix(p, ".md") })
	if err != nil || len(names) == 0 {
		return r, err
	}
	r.PostMortem = names[len(names)-1]
	text, err := t.Read(r.PostMortem, lesson.MaxPostMortem)
	r.LastWords = strings.ToValidUTF8(string(text[:min(len(text), maxWords)]), "?")
	return r, err
}

func artifacts(ctx context.Context, t *worktree.Tree) (list []Artifact, err error) {
	have, err := t.Walk(knowledge.Dir, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
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
	for _, name := range wanted {
		if path := knowledge.Dir + name; !seen[path] {
			list = append(list, Artifact{Path: path, Error: missing(name)})
		}
	}
	return list, nil
}

func missing(name string) string {
	if name == "symbols.json" || name == "dependency_graph.json" {
		return "missing: git ward knowledge build makes it"
	}
	return "missing"
}

// behind counts the commits since the one that last wrote a file; 0 for a file
// that is not committed.
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
