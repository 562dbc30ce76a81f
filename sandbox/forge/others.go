package forge

import (
	"fmt"
	"slices"

	"git-ward/internal/diag"
	"git-ward/internal/git"
	"git-ward/protocols/forge"
	"git-ward/protocols/record"
	"git-ward/sandbox/forge/client"
)

// othersRef has the heads of people's requests that were looked at.
const othersRef = forge.RefPrefix + "others"

// maxOthers bounds how many of people's requests get a status in one look.
const maxOthers = 20

// others are the heads of people's requests, by number, and where the next look begins: those that
// fail at each look do not take all places.
type others struct {
	Heads map[int64]string `json:"heads"`
	Next  int64            `json:"next,omitempty"`
}

// ofPeople sets the status of people's own requests, of which no directive says anything, where the
// project wants one on all (FORGE-3): without it nobody but an admin could merge them.
func (p *pass) ofPeople() error {
	rule, err := p.Forge.Required(p.ctx, p.Settings.Control.Project, forge.Context)
	if err != nil || !rule.Required {
		return p.each("requests of people", err)
	}
	list, err := p.Forge.Onto(p.ctx, p.Settings.Control.Project)
	if err != nil {
		return p.each("requests of people", err)
	}
	r, old, err := load[others](p, othersRef)
	if err != nil {
		return err
	}
	was := r.Heads
	r.Heads = map[int64]string{}
	for _, q := range list { // what a directive's own request says of its head stands, whose else the commit may be
		if q.Author.Login == p.self.Login {
			p.heads[q.Head.Commit] = true
		}
		if was[q.Number] != "" {
			r.Heads[q.Number] = was[q.Number]
		}
	}
	b, looked := &book{ref: othersRef, old: old, record: &r}, 0
	from := max(0, slices.IndexFunc(list, func(q client.Request) bool { return q.Number == r.Next }))
	r.Next = 0
	for _, q := range slices.Concat(list[from:], list[:from]) {
		if p.heads[q.Head.Commit] || r.Heads[q.Number] == q.Head.Commit {
			continue
		}
		if looked++; looked > maxOthers {
			r.Next = q.Number
			break
		}
		if err := p.each(fmt.Sprintf("request %d", q.Number), p.other(q, &r, b)); err != nil {
			return err
		}
	}
	if len(r.Heads) == 0 && r.Next == 0 && old == git.Zero {
		return nil
	}
	return p.keep(b)
}

// other sets the status of one of them.
func (p *pass) other(q client.Request, r *others, b *book) error {
	agents, ours, err := p.agents(q)
	if err != nil {
		return err
	}
	if ours { // the directive's own request says what is to be said of that commit
		r.Heads[q.Number] = q.Head.Commit
		return nil
	}
	word, description := forge.Status(forge.Judged{Head: q.Head.Commit, Others: true, Agents: agents})
	want := client.Status{Context: forge.Context, State: string(word), Description: diag.Untrusted(description), URL: q.Page}
	return p.do(p.status(q.Head.Commit, want, fmt.Sprintf("other-%d-%s", q.Number, q.Head.Commit), "", func() ([]git.RefUpdate, error) {
		r.Heads[q.Number] = q.Head.Commit
		return p.next(b)
	}))
}

// agents counts the commits of a request that an agent made, by what they say of themselves, and
// reports whether its head is work that is here.
func (p *pass) agents(q client.Request) (n int, ours bool, err error) {
	project, err := p.reader.Tip(p.Settings.Control.ProjectRef())
	if err != nil {
		return 0, false, err
	}
	work, err := p.Repo.Refs(p.ctx, workPrefix)
	if err != nil {
		return 0, false, err
	}
	for _, t := range work {
		if in, err := p.reader.Contains(t.ID, q.Head.Commit); err != nil {
			return 0, false, err
		} else if in {
			taken, err := p.reader.Contains(project, q.Head.Commit)
			return 0, !taken, err
		}
	}
	repo, tip, end, err := p.borrowed(p.project.Clone, q.Ref)
	if err != nil {
		return 0, false, err
	}
	defer end()
	if tip != q.Head.Commit {
		return 0, false, fmt.Errorf("it is at %s, and was at %s a moment ago", diag.Short(tip), diag.Short(q.Head.Commit))
	}
	reader := repo.Reader(p.ctx)
	defer reader.Close()
	said, err := reader.Saying(tip, project, record.TrailerDirective+": ")
	return len(said), false, err
}

// status is the deed of setting one, of which there is none like it yet.
func (p *pass) status(commit string, want client.Status, key, family string, done func() ([]git.RefUpdate, error)) deed {
	return deed{
		key: key, family: family, done: done,
		what: fmt.Sprintf("set %s of %s to %s: %s", want.Context, diag.Short(commit), want.State, want.Description),
		made: func(intent) (bool, error) {
			list, err := p.Forge.Statuses(p.ctx, commit)
			i := slices.IndexFunc(list, func(s client.Status) bool { return s.Context == want.Context })
			return i >= 0 && list[i].State == want.State && list[i].Description == want.Description && list[i].By.Login == p.self.Login, err
		},
		make: func(intent) error { return p.Forge.SetStatus(p.ctx, commit, want) },
	}
}
