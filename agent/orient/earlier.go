package orient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/git"
	"git-ward/internal/worktree"
	"git-ward/protocols/lesson"
	"git-ward/protocols/record"
	"git-ward/protocols/uow"
)

// Earlier is what an earlier unit left on its record (REC-4).
type Earlier struct {
	Unit       string `json:"unit"`
	Learnings  string `json:"learnings,omitempty"`
	PostMortem string `json:"post_mortem,omitempty"` // its path on the record
	LastWords  string `json:"last_words,omitempty"`  // the post-mortem's text
}

// The limits: earlier units of the directive, and as many of others; bytes of each text; and commits
// of the project that are searched for taken work.
const (
	maxEarlier = 8
	maxText    = 4 << 10
	maxTaken   = 2_000
)

// records reads records from one repository.
type records struct {
	repo    *git.Repo
	project string // the ref with the taken work
}

// recordsOf reads from the remote if it is on this machine, else from what the clone has
// fetched (git ward clone).
func recordsOf(ctx context.Context, o Options) (records, error) {
	names, err := o.Tree.Branches(ctx)
	if err != nil {
		return records{}, err
	}
	if o.Bare != "" {
		return records{git.Open(o.Bare), names.Control.ProjectRef()}, nil
	}
	repo, err := o.Tree.Repo(ctx)
	return records{repo, names.ProjectRef()}, err
}

// earlier reads the records of the task's earlier units, and of other units whose work is in
// the project, newest first. It skips unreadable ones.
func earlier(ctx context.Context, o Options) ([]Earlier, error) {
	r, err := recordsOf(ctx, o)
	if err != nil {
		return nil, err
	}
	tips, err := r.repo.Refs(ctx, record.Prefix)
	if err != nil || len(tips) == 0 {
		return nil, err
	}
	taken := r.taken(ctx)
	var own, others []unitTip
	for _, tip := range tips {
		id, err := record.ParseRef(tip.Name)
		at, known := taken[tip.Name]
		switch {
		case err != nil:
		case id.Directive == o.Task:
			own = append(own, unitTip{id, tip.ID, at})
		case known:
			others = append(others, unitTip{id, tip.ID, at})
		}
	}
	slices.SortFunc(own, func(a, b unitTip) int { return cmp.Compare(b.id.K, a.id.K) })
	slices.SortFunc(others, func(a, b unitTip) int { return cmp.Compare(a.age, b.age) })
	if len(own) > 0 && o.Unit == "" {
		o.Unit = own[0].id.String() // the newest is the current unit
	}
	own = slices.DeleteFunc(own, func(u unitTip) bool { return u.id.String() == o.Unit })
	batch := r.repo.Batch(ctx)
	defer batch.Close()
	var list []Earlier
	for _, u := range append(own[:min(len(own), maxEarlier)], others[:min(len(others), maxEarlier)]...) {
		e, err := read(batch, u)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil { // a broken record must not affect another directive
			continue
		}
		if e.Learnings != "" || e.PostMortem != "" {
			list = append(list, e)
		}
	}
	return list, nil
}

// unitTip is the tip of a unit's record; age is the position of its work in the project's history.
type unitTip struct {
	id  uow.ID
	tip string
	age int
}

// taken returns the records whose work is in the project, with their age. It finds them by the
// trailers of the project's commits.
func (r records) taken(ctx context.Context) map[string]int {
	list := map[string]int{}
	out, err := r.repo.Output(ctx, "log", fmt.Sprintf("--max-count=%d", maxTaken), "--no-show-signature", "--no-notes",
		"--format=%(trailers:key="+record.TrailerRecord+",valueonly,separator=%x20)", r.project, "--")
	if err != nil {
		return list
	}
	age := 0
	for line := range strings.Lines(string(out)) {
		age++
		for _, ref := range strings.Fields(line) {
			if _, known := list[ref]; !known {
				list[ref] = age
			}
		}
	}
	return list
}

// read reads a record's learnings and post-mortem.
func read(batch *git.Batch, u unitTip) (e Earlier, err error) {
	e.Unit = u.id.String()
	if e.Learnings, err = text(batch, u.tip+":"+record.Learnings); err != nil {
		return e, err
	}
	o, data, err := batch.Read(u.tip+":"+record.PostMortems, maxArtifact)
	if errors.Is(err, git.ErrMissing) || err == nil && o.Kind != "tree" {
		return e, nil
	}
	if err != nil {
		return e, err
	}
	entries, err := git.ParseTree(data)
	if err := git.Forgive(err); err != nil {
		return e, err
	}
	for _, entry := range slices.Backward(entries) { // newest first, because names begin with the date
		if strings.HasSuffix(entry.Name, ".md") && entry.IsRegular() {
			e.PostMortem = record.PostMortems + "/" + entry.Name
			e.LastWords, err = text(batch, entry.ID)
			break
		}
	}
	return e, err
}

// text returns the first maxText bytes of a file, "" if it is missing or too large.
func text(batch *git.Batch, name string) (string, error) {
	o, data, err := batch.Read(name, lesson.MaxPostMortem)
	if _, ok := errors.AsType[*git.TooLarge](err); errors.Is(err, git.ErrMissing) || ok || err == nil && o.Kind != "blob" {
		return "", nil
	}
	return strings.ToValidUTF8(string(data[:min(len(data), maxText)]), "?"), err
}

// ownPostMortem returns the path of the work tree's newest post-mortem, "" for none.
func ownPostMortem(ctx context.Context, t *worktree.Tree) (string, error) {
	dir, err := t.RecordPath(ctx, record.PostMortems)
	if err != nil {
		return "", err
	}
	names, err := t.Walk(dir, func(p string) bool { return strings.HasSuffix(p, ".md") })
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[len(names)-1], nil
}
