package command

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"git-ward/internal/cli"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/internal/runstate"
	"git-ward/internal/scratch"
	"git-ward/protocols/loop"
	"git-ward/protocols/record"
	"git-ward/protocols/review"
)

const (
	maxChanges = 200_000 // paths that one comparison lists
	maxBeside  = 100     // paths that nobody judged, of which that many are named
	maxTarget  = 4 << 10 // bytes of a link's target
)

// comparer compares and merges commits without running any setting that they bring.
type comparer struct {
	*units
	apart *git.Repo
	pairs *git.Comparer // of apart
	close func()

	metering *runstate.Meter                // nil until it is read
	merged   map[string]git.Merged          // by commit, of several subjects; nil until the first is asked for
	moved    map[[2]string][]diag.Untrusted // what uncovered has said, by its two commits or trees
}

func (u *units) comparer() (*comparer, error) {
	dir, err := scratch.Make("", "compare-")
	if err != nil {
		return nil, err
	}
	c := &comparer{units: u, moved: map[[2]string][]diag.Untrusted{}, close: func() { dir.Remove() }}
	if c.apart, err = u.repo.Apart(dir.Path); err != nil {
		c.close()
		return nil, err
	}
	c.pairs = c.apart.Comparer(u.ctx)
	c.close = func() {
		c.pairs.Close()
		dir.Remove()
	}
	return c, nil
}

// trees are those of two commits or trees.
func (c *comparer) trees(from, to string) (a, b string, err error) {
	if a, err = c.reader.Tip(from + "^{tree}"); err == nil {
		b, err = c.reader.Tip(to + "^{tree}")
	}
	if err == nil && (a == "" || b == "") {
		err = fmt.Errorf("%s or %s: %w", diag.Short(from), diag.Short(to), git.ErrMissing)
	}
	return a, b, err
}

// differences are the paths in which two commits or trees differ.
func (c *comparer) differences(from, to string) ([]git.Difference, error) {
	a, b, err := c.trees(from, to)
	if err != nil {
		return nil, err
	}
	return c.pairs.Compare(a, b, maxChanges)
}

// lacking adds to an error what a partial clone, which fetches nothing by itself here, can
// do about it.
func (u *units) lacking(err error) error {
	if err == nil || errors.Is(err, cli.ErrFindings) {
		return err
	}
	out, _ := u.repo.Output(u.ctx, "config", "--type=bool", "--default=false", "--get", "remote.origin.promisor")
	if strings.TrimSpace(string(out)) != "true" {
		return err
	}
	return diag.Hint(err, "this is a partial clone, and lacks files that are compared: git fetch --refetch --no-filter origin brings them")
}

// base is the commit from which the work branched off the project, "" if they share no
// history. If the project has the work, its merge base is the work itself, which would show no
// difference.
func (c *comparer) base(project, commit string, p review.Position) (string, error) {
	if project == "" {
		return "", nil
	}
	base, err := c.mergeBase(project, commit)
	if err != nil || base != commit {
		return base, err
	}
	if v := p.Verdict; v != nil && v.Base != "" && v.Base != commit {
		if ok, err := c.reader.Contains(commit, v.Base); ok || err != nil {
			return v.Base, err
		}
	}
	merge, err := c.mergeOf(commit)
	if err != nil {
		return "", err
	}
	if merge != commit {
		before, err := c.reader.Parent(merge)
		if err != nil {
			return "", err
		}
		return c.reader.MergeBase(before, commit)
	}
	return c.ownWork(commit, p.Name)
}

// mergeBase is that of the project and a commit.
func (c *comparer) mergeBase(project, commit string) (string, error) {
	if s := c.several; s != nil && s.project == project {
		if base, ok, err := s.past.Base(commit); ok || err != nil {
			return base, err
		}
	}
	return c.reader.MergeBase(project, commit)
}

// mergeTrees merges a commit into the project; several subjects' commits all at once.
func (c *comparer) mergeTrees(project, commit string) (git.Merged, error) {
	if s := c.several; s != nil && s.project == project {
		if c.merged == nil {
			var err error
			if c.merged, err = c.apart.MergeEach(c.ctx, project, s.open); err != nil {
				return git.Merged{}, err
			}
		}
		if m, ok := c.merged[commit]; ok {
			return m, nil
		}
	}
	return c.apart.MergeTrees(c.ctx, project, commit)
}

// ownWork walks from a commit down over the commits that say that they are of the
// directive's work, all of them by one child.
func (c *comparer) ownWork(commit, directive string) (string, error) {
	for entry, err := range c.repo.Records(c.ctx, "log", "-z", "--first-parent", "--format=%H%n%B", "--no-show-signature", "--no-notes", "--no-color", "--end-of-options", commit, "--") {
		if err != nil {
			return "", err
		}
		id, message, _ := strings.Cut(entry, "\n")
		if of := git.Trailers(message, record.TrailerDirective); len(of) != 1 || of[0] != directive {
			return id, nil
		}
	}
	return "", nil
}

// message is a commit's whole message.
func (u *units) message(commit string) (string, error) {
	message, err := u.reader.Message(commit)
	return strings.TrimRight(message, "\n"), err
}

// changes are the paths in which two commits differ.
func (c *comparer) changes(from, to string) (list []review.Change, err error) {
	differences, err := c.differences(from, to)
	if err != nil {
		return nil, err
	}
	batch := c.repo.Batch(c.ctx)
	defer batch.Close()
	list = []review.Change{}
	for _, d := range differences {
		change := review.Change{Path: diag.Untrusted(d.Path), Old: kind(d.Old), New: kind(d.New), Added: max(0, d.Added), Deleted: max(0, d.Deleted), Binary: d.Added < 0}
		if change.Binary {
			change.OldSize, change.NewSize = size(batch, d.Old), size(batch, d.New)
		}
		if d.New.Mode == git.ModeSymlink {
			_, target, err := batch.Read(d.New.ID, maxTarget)
			if err != nil {
				target = []byte(err.Error())
			}
			change.Target = diag.Untrusted(target)
		}
		list = append(list, change)
	}
	return list, nil
}

func kind(e git.Entry) review.Kind { return review.KindOf(uint32(e.Mode)) }

// size is a blob's, in bytes; 0 where there is none.
func size(batch *git.Batch, e git.Entry) int64 {
	if e.ID == "" {
		return 0
	}
	o, err := batch.Info(e.ID)
	if err != nil {
		return 0
	}
	return o.Size
}

// patch is the difference of the work, line by line.
func (c *comparer) patch(w *work) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		from, to, err := c.trees(w.from, w.Commit)
		if err != nil {
			yield("", err)
			return
		}
		c.pairs.Patch(from, to)(yield)
	}
}

// merge says what taking the work makes of the project; tree is "" where nothing can be
// made.
func (c *comparer) merge(project, base, commit string, p review.Position) (m review.Merge, tree string, err error) {
	m.Beside, m.Conflicts = []diag.Untrusted{}, []diag.Untrusted{}
	m.Moved = base != project
	if base == "" {
		m.Unrelated = true
		return m, "", nil
	}
	if p.Taken != "" {
		m.Judged = true
		return m, "", nil
	}
	merged, err := c.mergeTrees(project, commit)
	if err != nil {
		return m, "", fmt.Errorf("%w; a shallow clone has no history to merge: git fetch --unshallow", err)
	}
	for _, path := range merged.Conflicts {
		m.Conflicts = append(m.Conflicts, diag.Untrusted(path))
	}
	if len(merged.Conflicts) > 0 {
		return m, "", nil
	}
	from := base
	if p.Verdict != nil && p.Verdict.Base != "" {
		from = p.Verdict.Base
	}
	// The project's changes since the verdict, and their effect on the merge.
	for _, pair := range [][2]string{{from, project}, {commit, merged.Tree}} {
		if err := c.beside(&m, pair[0], pair[1]); err != nil {
			return m, "", err
		}
	}
	m.Judged = len(m.Beside) == 0
	return m, merged.Tree, nil
}

// beside adds the paths that differ between two trees and that no verdict covers.
func (c *comparer) beside(m *review.Merge, from, to string) error {
	if len(m.Beside) == maxBeside {
		return nil
	}
	paths, err := c.uncovered(from, to)
	for _, path := range paths {
		if len(m.Beside) < maxBeside && !slices.Contains(m.Beside, path) {
			m.Beside = append(m.Beside, path)
		}
	}
	return err
}

// uncovered are the paths that differ between two trees and that no verdict covers, in git's
// order. Each pair is asked for once: the project has moved alike for all subjects of one base.
func (c *comparer) uncovered(from, to string) ([]diag.Untrusted, error) {
	pair := [2]string{from, to}
	if list, ok := c.moved[pair]; ok {
		return list, nil
	}
	differences, err := c.differences(from, to)
	if err != nil {
		return nil, err
	}
	var list []diag.Untrusted
	for _, d := range differences {
		if !loop.Free(d.Path, c.names.Split()) {
			list = append(list, diag.Untrusted(d.Path))
		}
	}
	c.moved[pair] = list
	return list, nil
}
