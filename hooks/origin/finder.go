package origin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ward/hooks/audit"
	"git-ward/internal/branches"
	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// Finder answers questions about one repository, bare or a clone, without a fetch. It is not
// safe for concurrent use.
type Finder struct {
	ctx     context.Context
	repo    *git.Repo
	batch   *git.Batch
	reader  *git.Reader
	names   branches.Names
	adopted map[string]string // tips of branches when Ward was set up, by full ref name on the host
	known   map[string]Reason // by commit
	older   map[string]bool   // commits that were there when Ward was set up, as far as foresee was asked
	units   map[string][]unit // by directive
	made    map[string]string // what a forge made a commit of the project of, as the host saw it: the claimed commit
	scanned map[string]string // units by the commits that they claimed last; nil before it was asked
}

// unit is a unit and what it claimed, oldest first.
type unit struct {
	id     uow.ID
	claims []*uow.Record
}

// Open makes a finder, which the caller must close.
func Open(ctx context.Context, repo *git.Repo) (*Finder, error) {
	names, err := branches.Of(ctx, repo)
	if err != nil {
		return nil, err
	}
	f := &Finder{ctx: ctx, repo: repo, batch: repo.Batch(ctx), reader: repo.Reader(ctx), names: names, known: map[string]Reason{}, older: map[string]bool{}, units: map[string][]unit{}}
	if f.adopted, err = f.begin(); err == nil {
		f.made, err = f.merged()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close ends the finder's children.
func (f *Finder) Close() error { return errors.Join(f.batch.Close(), f.reader.Close()) }

// Project is the full ref of the project's branch here.
func (f *Finder) Project() string { return f.names.ProjectRef() }

// begin is where branches were when Ward was set up, by the audit's first record; none if the
// audit is missing here.
func (f *Finder) begin() (map[string]string, error) {
	tip, err := f.reader.Tip(state.AuditRef)
	if err != nil || tip == "" {
		return nil, err
	}
	out, err := f.repo.Output(f.ctx, "rev-list", "--max-parents=0", "--end-of-options", tip)
	if err != nil {
		return nil, err
	}
	first, err := audit.Read(f.batch, strings.TrimSpace(string(out)))
	if err != nil {
		return nil, nil // git ward fsck says what is wrong with it
	}
	tips := map[string]string{}
	for _, r := range first.Refs {
		if r.New != git.Zero {
			tips[r.Ref] = r.New
		}
	}
	return tips, nil
}

// Lines returns the reasons for lines of a file, one for each range of git blame.
func (f *Finder) Lines(ranges []Range, path string) ([]Reason, error) {
	list := []Reason{}
	f.foresee(ranges)
	for _, at := range ranges {
		r, err := f.reason(at)
		if err != nil {
			return nil, err
		}
		r.Path, r.First, r.Last = diag.Untrusted(path), at.First, at.First+at.Count-1
		if r.Commit != "" {
			r.WasPath, r.WasLine = diag.Untrusted(at.Path), at.Line
		}
		list = append(list, r)
	}
	return list, nil
}

// foresee finds in one walk which commits existed when Ward was set up, because one walk for
// each takes minutes in a long history. If it fails, each is looked up.
func (f *Finder) foresee(ranges []Range) {
	tip := f.adopted["refs/heads/"+f.names.Project]
	asked := map[string]bool{}
	for _, at := range ranges {
		if at.Commit != git.Zero && len(asked) < maxCommits {
			asked[at.Commit] = true
		}
	}
	if tip == "" || len(asked) == 0 {
		return
	}
	args := append([]string{"rev-list", "--end-of-options", "^" + tip}, slices.Collect(maps.Keys(asked))...)
	for commit, err := range f.repo.Lines(f.ctx, args...) {
		if err != nil {
			return
		}
		delete(asked, commit)
	}
	maps.Copy(f.older, asked)
}

// maxCommits bounds the commits that one question leads to; a file has more only where
// thousands wrote it.
const maxCommits = 500

// reason is the reason of a range; of a squash it is that of the line in what was squashed.
func (f *Finder) reason(at Range) (Reason, error) {
	if at.Commit == git.Zero {
		return Reason{SchemaVersion: SchemaVersion, Kind: Uncommitted, Remarks: []string{}}, nil
	}
	r, ok := f.known[at.Commit]
	if !ok && len(f.known) >= maxCommits {
		r = Reason{SchemaVersion: SchemaVersion, Kind: Person, Commit: at.Commit, Remarks: []string{
			fmt.Sprintf("more than %d commits wrote this file: ask about a line", maxCommits)}}
		return r, nil
	}
	if !ok {
		var err error
		if r, err = f.Commit(at.Commit); err != nil {
			return r, err
		}
		f.known[at.Commit] = r
	}
	if r.Taken != nil && r.Taken.How == "squash" && r.Taken.Commit == at.Commit && r.Claim != "" {
		return f.squashed(r, at)
	}
	return r, nil
}

// squashed finds the commit of the work that wrote a squash's line. That may have no verdict:
// the notes are missing, or a person took unjudged work.
func (f *Finder) squashed(r Reason, at Range) (Reason, error) {
	work := r.Claim
	if r.Verdict != nil {
		work = r.Verdict.Commit
	}
	line, err := lineBefore(f.ctx, f.repo, work, at.Commit, at.Path, at.Line)
	if err != nil || line == 0 {
		return r, err
	}
	run := func(args ...string) (string, error) {
		out, err := f.repo.Output(f.ctx, args...)
		return string(out), err
	}
	ranges, err := Blame(run, work, at.Path, line, line)
	if err != nil || len(ranges) != 1 {
		return r, nil // the work does not have the file: the squash says enough
	}
	inner, err := f.Commit(ranges[0].Commit)
	if err != nil || inner.Kind != Directive || inner.Iteration == 0 {
		return r, err
	}
	inner.Verdict, inner.Taken = r.Verdict, r.Taken
	return inner, nil
}

// Commit returns the reason for a commit.
func (f *Finder) Commit(id string) (Reason, error) {
	r := Reason{SchemaVersion: SchemaVersion, Kind: Person, Commit: id, Remarks: []string{}}
	c, err := f.read(id)
	if err != nil {
		return r, err
	}
	r.Author, r.Time = author(c)
	subject, _, _ := strings.Cut(c.Text(c.Message), "\n")
	r.Subject = diag.Untrusted(subject)
	if f.older[id] {
		r.Kind = Older
		return r, nil
	}
	branch, ref, err := f.branch(id)
	if err != nil {
		return r, err
	}
	if tip := f.adopted["refs/heads/"+branch]; branch != "" && tip != "" {
		if older, err := f.reader.Contains(tip, id); err != nil || older {
			r.Kind = Older
			return r, err
		}
	}
	if branch != "" {
		if r.Taken, err = f.taken(branch, ref, id); err != nil {
			return r, err
		}
	}
	return r, f.work(&r, c)
}

// read is a commit; what git shows of one that is not of git's form is shown, too.
func (f *Finder) read(id string) (*git.Commit, error) {
	_, data, err := f.batch.Read(id, 1<<20)
	if err != nil {
		return nil, err
	}
	c, err := git.ParseCommit(data)
	if c != nil {
		err = nil
	}
	return c, err
}

// author is who wrote a commit and when, by its own word.
func author(c *git.Commit) (diag.Untrusted, time.Time) {
	raw := c.Text(c.Author)
	who, rest, _ := strings.Cut(raw, "> ")
	seconds, _, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseInt(seconds, 10, 64)
	return diag.Untrusted(strings.TrimSuffix(who, ">") + ">"), time.Unix(n, 0).UTC()
}

// branch is the project's branch or, for Ward's documents, the control branch: the first that
// contains a commit; "" for neither.
func (f *Finder) branch(id string) (name, ref string, err error) {
	for _, at := range [][2]string{{f.names.Project, f.names.ProjectRef()}, {f.names.Branch, f.names.ControlRef()}} {
		name, ref := at[0], at[1]
		tip, err := f.reader.Tip(ref)
		if err != nil {
			return "", "", err
		}
		if tip == "" {
			continue
		}
		if in, err := f.reader.Contains(tip, id); err != nil || in {
			return name, ref, err
		}
	}
	return "", "", nil
}

// lookedAt is how many commits of a branch's first-parent history are searched for the push
// that brought one.
const lookedAt = 1000

// taken is how a branch got a commit: the first commit of its first-parent history that
// contains it, and that one's push.
func (f *Finder) taken(branch, ref, id string) (*Taken, error) {
	after, err := f.after(ref, id)
	if err != nil {
		return nil, err
	}
	t := &Taken{Branch: branch, Commit: id, How: "commit"}
	if len(after) > 0 {
		if parent, err := f.reader.Parent(after[0]); err != nil {
			return nil, err
		} else if parent != id {
			t.Commit, t.How = after[0], "merge"
		}
	}
	if t.Commit == id {
		after = append([]string{id}, after...)
	}
	c, err := f.read(t.Commit)
	if err != nil {
		return nil, err
	}
	if f.squashOf(t.Commit, c) != "" {
		t.How = "squash"
	}
	_, t.Time = author(c)
	for i, tip := range after {
		if i == lookedAt {
			break
		}
		if found, err := f.pushed(t, "refs/heads/"+branch, tip); err != nil || found {
			return t, err
		}
	}
	return t, nil
}

// after are the commits of a branch's own line, first parents only, that came after a
// commit and have it, oldest first.
func (f *Finder) after(ref, id string) ([]string, error) {
	have := map[string]bool{}
	for c, err := range f.repo.Lines(f.ctx, "rev-list", "--ancestry-path", "--end-of-options", ref, "^"+id) {
		if err != nil {
			return nil, err
		}
		have[c] = true
	}
	var list []string
	for c, err := range f.repo.Lines(f.ctx, "rev-list", "--first-parent", "--end-of-options", ref, "^"+id) {
		if err != nil {
			return nil, err
		}
		if !have[c] {
			break
		}
		list = append(list, c)
	}
	slices.Reverse(list)
	return list, nil
}

// maxAuditNote bounds a note of the audit, in bytes.
const maxAuditNote = 8 << 20

// pushed fills in the push that moved a branch to tip, if the audit's note there has one.
func (f *Finder) pushed(t *Taken, ref, tip string) (bool, error) {
	note, err := f.reader.Note(state.AuditNotes, tip, maxAuditNote)
	if _, large := errors.AsType[*git.TooLarge](err); large {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, line := range audit.ParseNote(note).Lines {
		r, err := audit.ParseRecord([]byte(line))
		if err != nil || r.Verdict != audit.Accepted {
			continue
		}
		for _, moved := range r.Refs {
			if moved.Ref == ref && moved.New == tip {
				t.Push, t.Time = r.ID, r.Time
				t.Who = strings.TrimSpace(diag.Clean(r.Principal) + " " + diag.Clean(r.Name))
				return true, nil
			}
		}
	}
	return false, nil
}

// journals are the units of a directive with their claims, oldest first.
func (f *Finder) journals(directive string) ([]unit, error) {
	if list, ok := f.units[directive]; ok {
		return list, nil
	}
	var list []unit
	for k := 1; ; k++ {
		id := uow.ID{Directive: directive, K: k}
		tip, err := f.reader.Tip(id.Ref())
		if err != nil {
			return nil, err
		}
		if tip == "" {
			break
		}
		u := unit{id: id}
		for r, err := range state.History(f.reader, tip) {
			if _, broken := errors.AsType[*state.BrokenRecord](err); broken {
				continue
			}
			if err != nil {
				return nil, err
			}
			if r.Event == uow.MakeClaim {
				u.claims = append(u.claims, r)
			}
		}
		slices.Reverse(u.claims)
		list = append(list, u)
	}
	f.units[directive] = list
	return list, nil
}
