package origin

import (
	"fmt"
	"slices"
	"strings"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/lease"
	"git-ward/protocols/record"
	"git-ward/protocols/state"
	"git-ward/protocols/uow"
)

// work finds the unit that a commit is of, and fills in what is known of it.
func (f *Finder) work(r *Reason, c *git.Commit) error {
	brought, err := f.brought(r, c)
	if err != nil {
		return err
	}
	hints, err := f.hints(r, c, brought)
	if err != nil {
		return err
	}
	for _, directive := range hints {
		if found, err := f.claimed(r, directive, brought); err != nil || found {
			return err
		}
	}
	if said := named(c.Message); len(said) > 0 {
		r.Directive = said[0]
		units, err := f.journals(r.Directive)
		if err != nil {
			return err
		}
		why := "it says so itself, and no unit of it claimed this commit: it was rebased, picked or made by hand"
		if len(units) == 0 {
			why = "it says so itself; no journal of it is here (in a clone: git fetch origin 'refs/ward/*:refs/ward/*')"
		}
		r.Remarks = append(r.Remarks, why)
		return f.title(r)
	}
	return nil
}

// brought is the work's commit by which a branch got this one: a merge's second side, a
// squash's source, else the commit itself.
func (f *Finder) brought(r *Reason, c *git.Commit) (string, error) {
	if r.Taken == nil {
		return r.Commit, nil
	}
	if r.Taken.How == "squash" {
		if r.Taken.Commit != r.Commit {
			return r.Commit, nil
		}
		return f.squashOf(r.Commit, c), nil
	}
	if r.Taken.How == "commit" && len(c.Parents) == 2 {
		list, err := state.VerdictsOn(f.reader, c.Parents[1])
		if err != nil {
			return "", err
		}
		if len(list) > 0 { // it is the merge itself that was asked about
			r.Taken.How = "merge"
			return c.Parents[1], nil
		}
	}
	if r.Taken.How != "merge" {
		return r.Commit, nil
	}
	m, err := f.read(r.Taken.Commit)
	if err != nil {
		return "", err
	}
	for _, parent := range m.Parents[min(1, len(m.Parents)):] {
		if in, err := f.reader.Contains(parent, r.Commit); err != nil || in {
			return parent, err
		}
	}
	return r.Commit, nil
}

// hints are directives to which a commit may belong, the likeliest first: by its own trailers,
// the host's verdicts, the merge, and the branches that contain it.
func (f *Finder) hints(r *Reason, c *git.Commit, brought string) (list []string, err error) {
	add := func(names ...string) {
		for _, name := range names {
			if lease.IsDirective(name) && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	add(named(c.Message)...)
	for _, id := range []string{brought, r.Commit} {
		verdicts, err := state.VerdictsOn(f.reader, id)
		if err != nil {
			return nil, err
		}
		for _, v := range verdicts {
			name, _, _ := strings.Cut(v.Unit, ".")
			add(name)
		}
	}
	if r.Taken != nil && r.Taken.Commit != r.Commit {
		m, err := f.read(r.Taken.Commit)
		if err != nil {
			return nil, err
		}
		add(named(m.Message)...)
	}
	if len(list) > 0 {
		return list, nil
	}
	out, err := f.repo.Output(f.ctx, "for-each-ref", "--contains="+r.Commit, "--count=20", "--format=%(refname)", f.names.Base()+"agent/")
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(out)) {
		add(strings.TrimPrefix(name, f.names.Base()+"agent/"))
	}
	if len(list) == 0 {
		name, err := f.scan(brought)
		if err != nil {
			return nil, err
		}
		add(name)
	}
	return list, nil
}

// named are the directives that a message names by its trailers.
func named(message string) []string { return git.Trailers(message, record.TrailerDirective) }

// scan looks for the unit that claimed a commit last, among all.
func (f *Finder) scan(commit string) (directive string, err error) {
	if f.scanned == nil {
		f.scanned = map[string]string{}
		all, _, err := state.Units(f.reader)
		if err != nil {
			return "", err
		}
		for _, u := range all {
			if last, err := state.Record(f.reader, u.Tip); err == nil && last.Claim != nil {
				f.scanned[last.Claim.Commit] = u.ID.Directive
			}
		}
	}
	return f.scanned[commit], nil
}

// claimed finds a directive's first claim that contains the commit. It returns false for none,
// or if the branch did not take what was claimed.
func (f *Finder) claimed(r *Reason, directive, brought string) (bool, error) {
	units, err := f.journals(directive)
	if err != nil {
		return false, err
	}
	inner := r.Commit
	if r.Taken != nil && r.Taken.How != "commit" && r.Taken.Commit == r.Commit {
		inner = brought // of a merge or a squash as a whole: the iteration that ended the work
	}
	for _, u := range units {
		for _, claim := range u.claims {
			in, err := f.reader.Contains(claim.Claim.Commit, inner)
			if err != nil {
				return false, err
			}
			if !in {
				continue
			}
			if r.Taken != nil && r.Taken.How == "commit" {
				if own, err := f.own(u, r, claim); err != nil || !own {
					return false, err
				}
			}
			r.Kind, r.Directive, r.Unit, r.Iteration, r.Claim = Directive, directive, u.id.String(), claim.Claim.Iteration, claim.Claim.Commit
			r.Transcript = fmt.Sprintf("git ward transcript %s --iteration %d", r.Unit, r.Iteration)
			if err := f.judged(r, units, brought); err != nil {
				return false, err
			}
			return true, f.title(r)
		}
	}
	return false, nil
}

// own reports whether a commit of a branch's own line belongs to a claim's work, as after a
// fast-forward, and not to the earlier project: the host's verdict says where the project was
// then.
func (f *Finder) own(u unit, r *Reason, claim *uow.Record) (bool, error) {
	if claim.Claim.Commit == r.Commit {
		return true, nil
	}
	list, err := state.VerdictsOf(f.reader, u.id, []string{claim.Claim.Commit})
	if err != nil || len(list) == 0 || list[len(list)-1].Main == "" {
		return false, err
	}
	before, err := f.reader.Contains(list[len(list)-1].Main, r.Commit)
	return err == nil && !before, err
}

// judged fills in the host's verdict: on what was taken where that is a claim, else on the
// claim itself.
func (f *Finder) judged(r *Reason, units []unit, brought string) error {
	for _, commit := range []string{brought, r.Claim} {
		for _, u := range slices.Backward(units) {
			list, err := state.VerdictsOf(f.reader, u.id, []string{commit})
			if err != nil {
				return err
			}
			if len(list) > 0 {
				r.Verdict = verdictOf(list[len(list)-1])
				return nil
			}
		}
	}
	return nil
}

// title is the directive's as COMMS.md has it now.
func (f *Finder) title(r *Reason) error {
	doc, err := state.ReadComms(f.reader, f.names.ControlRef())
	if err != nil {
		return err
	}
	if d := doc.Directive(r.Directive); d != nil {
		r.Title = diag.Untrusted(d.Title)
	}
	return nil
}

// merged are the commits that a forge made of claimed ones, by squash or rebase (FORGE-4).
func (f *Finder) merged() (map[string]string, error) {
	refs, err := f.reader.Refs(state.TakenPrefix)
	made := map[string]string{}
	for ref, commit := range refs {
		made[commit] = strings.TrimPrefix(ref, state.TakenPrefix)
	}
	return made, err
}

// squashOf is the claimed commit from which a project's commit was squashed, "" for none: by
// the commit's trailer, or by the forge's merge that the host saw.
func (f *Finder) squashOf(id string, c *git.Commit) string {
	if of := git.Trailers(c.Message, record.TrailerTaken); len(c.Parents) == 1 && len(of) == 1 && git.IsID(of[0]) {
		return of[0]
	}
	return f.made[id]
}
